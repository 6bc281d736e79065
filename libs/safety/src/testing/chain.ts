import { parseItem, parseRequest, type Item, type ResponseRequest } from '@turnpike/protocol';
import { TurnContext, type TurnItem, type WorkUnit } from '@turnpike/turns';
import { parseRulePack, readRulePack } from '../rule-pack.js';
import { RuleSet } from '../rule-set.js';
import { safetyPolicy } from '../policy.js';
import { SafetyStage } from '../safety.stage.js';
import type { SafetyState } from '../state.js';

/** The default rules, and phrases that are blocked beside them. */
export function testRules(...phrases: readonly string[]): RuleSet {
  const packs = [readRulePack('default')];
  if (phrases.length === 0) return new RuleSet(packs);
  const rules = [{ id: 'own', category: 'hate', action: 'block', phrases }];
  return new RuleSet([...packs, parseRulePack({ name: 'own', rules }, 'own')]);
}

/** A stage with the default rules. */
export function stage(options: Partial<Parameters<typeof safetyPolicy>[0]> = {}): SafetyStage {
  const policy = safetyPolicy({ rules: testRules(), window: 400, failure: 'closed', ...options });
  return new SafetyStage({ policy });
}

export function message(role: string, text: string): Item {
  return parseItem({ role, content: text }, 'input[0]');
}

export function given(text: string): TurnItem {
  return { item: message('user', text) };
}

/** What a model wrote. */
export function written(text: string): TurnItem {
  return { item: message('assistant', text), sampled: { format: 'f', ids: Int32Array.of(1) } };
}

export interface Chain {
  readonly state: SafetyState;
  readonly items: readonly TurnItem[];
  /** Of the last turn. */
  readonly work: ReadonlyMap<WorkUnit, number>;
}

/** A request of which nothing is looked at. */
export const REQUEST: ResponseRequest = parseRequest(
  { model: 'model', input: [], store: false },
  'websocket',
);

/** Folds turns, one list of items each: those that a model wrote alone are output. */
export function foldChain(
  stage: SafetyStage,
  turns: readonly (readonly TurnItem[])[],
  { parent, request }: { parent?: Chain; request?: Partial<ResponseRequest> } = {},
): Chain {
  let chain = parent;
  for (const items of turns) {
    const history = chain?.items ?? [];
    const phase =
      items.length > 0 && items.every(({ sampled }) => sampled !== undefined) ? 'output' : 'input';
    const start = {
      id: 'resp_1',
      tenant: 't',
      request: { ...REQUEST, ...request },
      items,
      history: () => history,
    };
    const turn = new TurnContext(start, phase);
    const state = stage.advance(chain?.state, turn.viewFor(stage));
    if (state instanceof Promise) throw new Error('such a turn has fewer items');
    chain = { state, items: [...history, ...items], work: turn.work };
  }
  if (chain === undefined) throw new Error('a chain has at least one turn');
  return chain;
}
