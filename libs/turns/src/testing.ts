import { inspect, isDeepStrictEqual } from 'node:util';
import type { MessageItem, ResponseRequest } from '@turnpike/protocol';
import { foldedBy, type Fold, type Folded } from './testing/fold.js';
import type { Artifacts, TurnStage } from './stage.js';
import type { TurnItem } from './turn.js';

export interface IncrementalOptions<A> {
  /**
   * A conversation, one list of new items per turn. A list of sampled items only is folded in the output phase, as
   * what the model wrote in that turn; any other list is input.
   */
  readonly turns: readonly (readonly TurnItem[])[];
  /** Settings of every request, over those of a plain warm-up (nothing is sampled here). */
  readonly request?: Partial<ResponseRequest>;
  /** Stages that the checked one needs; they are folded beside it. */
  readonly needs?: readonly TurnStage<unknown>[];
  /** Fixed artifacts for needed stages that are not folded. */
  readonly artifacts?: Artifacts;
  /** When two artifacts say the same. Default: deep equality of plain data, typed arrays, maps, sets and classes. */
  readonly equal?: (a: A, b: A) => boolean;
}

type Turns = readonly (readonly TurnItem[])[];

/** Turns before the checked conversation, in the short and in the long history of law 3. */
const SHORT_HISTORY = 1;
const LONG_HISTORY = 24;

/**
 * Checks the three laws of a stage on one conversation; call it from a property test with generated ones.
 *
 * 1. Same as from scratch: folding item by item, turn by turn or all at once gives equal artifacts.
 * 2. Branch-safe: `advance` changes neither `previous` nor what a sibling made from it.
 * 3. O(new): no turn counts more work, or reads the history, because more came before it.
 *
 * @throws Error (the promise rejects) naming the law that is broken and how
 */
export async function expectIncremental<A>(
  stage: TurnStage<A>,
  options: IncrementalOptions<A>,
): Promise<void> {
  const { turns, equal = isDeepStrictEqual } = options;
  const check: Check<A> = { name: stage.token.name, fold: foldedBy(stage, options), equal };
  await sameAsFromScratch(check, turns);
  await branchSafe(check, turns);
  await costsTheNew(check, turns);
}

interface Check<A> {
  readonly name: string;
  readonly fold: Fold<A>;
  readonly equal: (a: A, b: A) => boolean;
}

async function sameAsFromScratch<A>(check: Check<A>, turns: Turns): Promise<void> {
  const items = turns.flat();
  const whole = await foldAll(check, [items]);
  const splits: Record<string, Turns> = {
    'turn by turn': turns,
    'item by item': items.map((item) => [item]),
    'turn by turn with an empty turn after each': turns.flatMap((turn) => [turn, []]),
  };
  for (const [way, split] of Object.entries(splits)) {
    const found = await foldAll(check, split.length > 0 ? split : [[]]);
    if (check.equal(whole.artifact, found.artifact)) continue;
    const law = `law 1 (same as from scratch): folding ${way} gives another artifact than folding all at once`;
    throw broken(check.name, law, whole.artifact, found.artifact);
  }
}

async function branchSafe<A>(check: Check<A>, turns: Turns): Promise<void> {
  const siblings: { path: Turns; node: Folded<A> | undefined }[] = [];
  let parent: Folded<A> | undefined;
  for (const [index, turn] of turns.entries()) {
    const path = turns.slice(0, index);
    const fork = [message('user', `another way to go on after turn ${index}`)];
    siblings.push({ path: [...path, fork], node: await check.fold(parent, fork).catch(() => undefined) });
    const child: Folded<A> = await check.fold(parent, turn);
    siblings.push({ path: [...path, turn], node: child });
    if (parent !== undefined) await expectUntouched(check, parent, path, 'advance changed previous');
    parent = child;
  }
  for (const { path, node } of siblings) {
    // A stage may refuse the fork, as when a tool call waits for its output: there is no sibling then.
    if (node) await expectUntouched(check, node, path, 'two children of one parent see each other');
  }
}

/** Compares a node with one folded the same way with no siblings beside it and no children behind it. */
async function expectUntouched<A>(
  check: Check<A>,
  node: Folded<A>,
  path: Turns,
  fault: string,
): Promise<void> {
  const alone = await foldAll(check, path);
  if (!check.equal(alone.artifact, node.artifact)) {
    throw broken(check.name, `law 2 (branch-safe): ${fault}`, alone.artifact, node.artifact);
  }
}

async function costsTheNew<A>(check: Check<A>, turns: Turns): Promise<void> {
  let short = await foldAll(check, padding(SHORT_HISTORY));
  let long = await foldAll(check, padding(LONG_HISTORY));
  for (const [index, turn] of turns.entries()) {
    short = await check.fold(short, turn);
    long = await check.fold(long, turn);
    if (long.readHistory)
      throw broken(check.name, `law 3 (O(new)): turn ${index} reads the history though it has a parent`);
    for (const [unit, amount] of long.work) {
      const before = short.work.get(unit) ?? 0;
      if (amount <= before) continue;
      throw broken(
        check.name,
        `law 3 (O(new)): turn ${index} counts ${amount} ${unit} after a long history and ${before} after a short one`,
      );
    }
  }
}

async function foldAll<A>({ fold }: Check<A>, turns: Turns): Promise<Folded<A>> {
  const [first = [], ...rest] = turns;
  let node = await fold(undefined, first);
  for (const turn of rest) node = await fold(node, turn);
  return node;
}

/** Texts are of one length, for stages whose work on new items depends on the item right before them. */
function padding(exchanges: number): Turns {
  return Array.from({ length: exchanges }, (_, index) => [
    [message('user', `question ${10 + index}`)],
    [message('assistant', `answer ${10 + index}`)],
  ]).flat();
}

function message(role: 'user' | 'assistant', text: string): TurnItem {
  const item: MessageItem =
    role === 'user'
      ? { type: 'message', role, content: [{ type: 'input_text', text }] }
      : { type: 'message', role, content: [{ type: 'output_text', text, annotations: [], logprobs: [] }] };
  return { item };
}

function broken(name: string, fault: string, ...artifacts: [expected: unknown, found: unknown] | []): Error {
  const shown = artifacts.map((artifact) =>
    inspect(artifact, { depth: 6, maxArrayLength: 50, maxStringLength: 200 }),
  );
  const detail = shown.length > 0 ? `\n  expected: ${shown[0]}\n  found: ${shown[1]}` : '';
  return new Error(`Stage '${name}' breaks ${fault}.${detail}`);
}
