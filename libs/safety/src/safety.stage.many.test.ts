import { describe, expect, it } from '@jest/globals';
import type { ResponseRequest } from '@turnpike/protocol';
import { TurnContext, type TurnItem } from '@turnpike/turns';
import { safetyPolicy } from './policy.js';
import { parseRulePack } from './rule-pack.js';
import { RuleSet } from './rule-set.js';
import { SafetyStage, type SafetyDecision } from './safety.stage.js';
import { foldChain, given, message, REQUEST, stage } from './testing/chain.js';
import { MARKER } from './testing/marker.js';
import { ContentBlocked } from './verdict.js';

describe('very many items', () => {
  const many = (last: string): TurnItem[] => [
    ...Array.from({ length: 1_000 }, () => ({ item: message('user', 'a') })),
    { item: message('user', last) },
  ];
  const advance = async (items: readonly TurnItem[], signal?: AbortSignal) => {
    const safety = stage();
    const start = { id: 'resp_1', tenant: 't', request: REQUEST, items, history: () => [] };
    const turn = new TurnContext(start, 'input');
    signal?.addEventListener('abort', () => turn.abort(signal.reason));
    return safety.advance(undefined, turn.viewFor(safety));
  };

  it('are read with everything else that waits in between', async () => {
    let others = 0;
    setImmediate(() => (others += 1));
    const state = await advance(many('b'));
    expect(others).toBe(1);
    const items = many('b');
    const turns = Array.from({ length: Math.ceil(items.length / 10) }, (_, n) =>
      items.slice(10 * n, 10 * n + 10),
    );
    expect(state).toEqual(foldChain(stage(), turns).state);
  });

  it('are refused for the last of them', async () => {
    await expect(advance(many(MARKER))).rejects.toBeInstanceOf(ContentBlocked);
  });

  it('are left when the turn ends', async () => {
    const controller = new AbortController();
    const read = advance(many('b'), controller.signal);
    controller.abort(new Error('gone'));
    await expect(read).rejects.toThrow('gone');
  });
});

describe('very many texts', () => {
  it('of a head are read', () => {
    const values = Array.from({ length: 200_000 }, () => 'a');
    const tool = {
      type: 'function' as const,
      name: 'f',
      parameters: { properties: { a: { enum: values } } },
    };
    const head = (last: string) => {
      const tools = [{ ...tool, description: last }] as unknown as ResponseRequest['tools'];
      return { request: { tools, toolsKey: last } };
    };
    const { work } = foldChain(stage(), [[given('hi')]], head('b'));
    expect(work.get('characters_classified')).toBeGreaterThan(200_000);
    expect(() => foldChain(stage(), [[given('hi')]], head(MARKER))).toThrow('content policy');
  });

  it('and findings in them: each rule is reported once for a text', () => {
    const rule = { id: 'r', category: 'hate', all: ['red', 'blue'], action: 'flag' };
    const rules = new RuleSet([parseRulePack({ name: 'p', rules: [rule] }, 'p')]);
    const decisions: SafetyDecision[] = [];
    const policy = safetyPolicy({ rules, window: 0, failure: 'closed' });
    const safety = new SafetyStage({ policy, onDecision: (decision) => decisions.push(decision) });
    const { state } = foldChain(safety, [[given('red blue '.repeat(100_000)), given('red')]]);
    expect(state.flags).toEqual(['hate']);
    expect(decisions.map(({ findings }) => findings.map(({ path }) => path))).toEqual([
      ['input[0].content[0].text', 'input[1].content[0].text'],
    ]);
  });
});
