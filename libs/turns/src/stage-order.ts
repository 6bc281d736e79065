import type { TurnStage } from './stage.js';

type Stage = TurnStage<unknown>;

/** @throws Error when two stages share a name */
export function requireUniqueNames(stages: readonly Stage[]): void {
  const names = new Set<string>();
  for (const { token } of stages) {
    if (names.has(token.name)) throw new Error(`Two stages are named '${token.name}'.`);
    names.add(token.name);
  }
}

/**
 * The stages of one group in an order in which each follows its needs, and otherwise as listed.
 *
 * @param earlier stages that have run before this group starts
 * @param later stages that run only after this group
 * @throws Error when a need is missing, comes too late, or leads back to the stage itself
 */
export function orderStages(
  group: readonly Stage[],
  earlier: readonly Stage[],
  later: readonly Stage[],
): Stage[] {
  for (const stage of group) requireNeeds(stage, group, earlier, later);
  const placed = namesOf(earlier);
  const ordered: Stage[] = [];
  const waiting = new Set(group);
  while (waiting.size > 0) {
    const next = [...waiting].find((stage) => stage.needs.every((need) => placed.has(need.name)));
    if (next === undefined) throw new Error(`Stages need each other in a circle: ${circle([...waiting])}.`);
    waiting.delete(next);
    placed.add(next.token.name);
    ordered.push(next);
  }
  return ordered;
}

function requireNeeds(
  stage: Stage,
  group: readonly Stage[],
  earlier: readonly Stage[],
  later: readonly Stage[],
): void {
  const known = namesOf([...earlier, ...group]);
  const tooLate = namesOf(later);
  for (const need of stage.needs) {
    if (known.has(need.name)) continue;
    const fault = tooLate.has(need.name) ? 'which runs in a later group' : 'which is not in the pipeline';
    throw new Error(`Stage '${stage.token.name}' needs '${need.name}', ${fault}.`);
  }
}

/** One circle among stages of which each has a need among the others. */
function circle(stages: readonly Stage[]): string {
  const byName = new Map(stages.map((stage) => [stage.token.name, stage]));
  const path: string[] = [];
  let stage = stages[0];
  while (stage !== undefined && !path.includes(stage.token.name)) {
    path.push(stage.token.name);
    const need = stage.needs.find(({ name }) => byName.has(name));
    stage = need && byName.get(need.name);
  }
  const start = stage?.token.name ?? '';
  return [...path.slice(path.indexOf(start)), start].join(' -> ');
}

function namesOf(stages: readonly Stage[]): Set<string> {
  return new Set(stages.map(({ token }) => token.name));
}
