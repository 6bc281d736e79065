import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Format } from '@turnpike/formats';
import type { ResponseRequest, Tool } from '@turnpike/protocol';
import { expectIncremental, type TurnItem } from '@turnpike/turns';
import { promptOf } from './prompt.js';
import type { Rendered } from './rendered.js';
import { RenderingStage } from './rendering.stage.js';
import { block, body, chain, head, REQUEST, type Node } from './testing/chain.js';
import {
  answer,
  call,
  given,
  items,
  output,
  reasoning,
  sampled,
  SCHEMA,
  splits,
  update,
  user,
} from './testing/conversations.js';
import { fakeFormat, fakeProvider, idsOf } from './testing/fake-format.js';

/** What two renderings must agree in; how their chunks lie is their own affair. */
function shown({ format, head, body, tail, calls, settings, end }: Rendered): string {
  const ids = [...body.toIds()];
  return JSON.stringify([
    format,
    head.key,
    [...head.tokens.toIds()],
    ids,
    tail,
    [...calls],
    settings,
    end.place,
    [...end.closing],
  ]);
}

describe('RenderingStage', () => {
  it('renders head and items, in one encoding', () => {
    const { fold, calls } = chain();
    const node = fold(undefined, given(user('hi'), answer('ho')), {
      settings: { instructions: 'Be brief.' },
    });
    const settings = JSON.stringify({ instructions: 'Be brief.', tools: REQUEST.tools, date: '2026-01-31' });
    expect(head(node)).toEqual(block('system', settings));
    expect(body(node)).toEqual([...block('user', 'hi'), ...block('assistant', 'ho')]);
    expect(calls).toEqual([['system', settings, 'user', 'hi', 'assistant', 'ho']]);
    const encoded = settings.length + 'systemuserhiassistantho'.length;
    expect(node.work).toEqual({ items_rendered: 2, tokens_encoded: encoded });
  });

  it('puts what an item sets into the head, from its own response on and before what requests say', () => {
    const { fold } = chain();
    const settings = { reasoning: { effort: 'low' as const } };
    const root = fold(undefined, given(user('a')), { settings });
    const raised = fold(root, given(update({ effort: 'high' }), user('b')), { settings });
    const bound = fold(raised, given(update({ format: SCHEMA })), { settings });
    const fork = fold(root, given(user('c')), { settings });
    const keys = [root, raised, bound, fork].map(({ rendered }) => rendered.head.key);
    expect(keys.map(({ effort }) => effort)).toEqual(['low', 'high', 'high', 'low']);
    expect(keys.map(({ responseFormat }) => responseFormat)).toEqual([
      undefined,
      undefined,
      '["a",null,{"type":"object"}]',
      undefined,
    ]);
    expect(fork.rendered.head).toBe(root.rendered.head);
    expect(body(raised)).toEqual([...block('user', 'a'), ...block('user', 'b')]);
    const plain = fold(bound, given(update({ format: { type: 'text' } })), { settings });
    expect(plain.rendered.head.key).toEqual(raised.rendered.head.key);
  });

  it('shows no tool of the request that is to be searched for', () => {
    const { fold } = chain();
    const tools: Tool[] = [
      { type: 'tool_search', execution: 'client' },
      { type: 'function', name: 'later', defer_loading: true },
    ];
    const settings = { tools, toolsKey: JSON.stringify(tools) };
    const shown = String.fromCharCode(...head(fold(undefined, given(user('a')), { settings })));
    expect(shown).toContain('"tools":[{"type":"tool_search"');
    expect(shown).not.toContain('defer_loading');
  });

  it('takes 40,000 calls and their outputs in one turn, which copying the open calls for each would not', () => {
    const { fold } = chain();
    const ids = Array.from({ length: 40_000 }, (_, index) => `c${index}`);
    const node = fold(
      undefined,
      given(...ids.map((id) => call(id, 'f')), ...ids.map((id) => output(id, 'x'))),
    );
    expect(node.rendered.calls.size).toBe(0);
  });

  it('takes sampled ids over verbatim, and renders what another format sampled', () => {
    const { fold, calls } = chain();
    const root = fold(undefined, given(user('hi')));
    const own = fold(root, [sampled(answer('ho'), [7, 8, 9])]);
    expect(body(own)).toEqual([...block('user', 'hi'), 7, 8, 9]);
    expect(own.work).toEqual({});
    expect(calls).toHaveLength(1);
    const cutShort = fold(root, [sampled(answer('ho'), [])]);
    expect(body(cutShort)).toEqual(body(root));
    const foreign = fold(root, [sampled(answer('ho'), [7, 8, 9], 'another')]);
    expect(body(foreign)).toEqual([...block('user', 'hi'), ...block('assistant', 'ho')]);
  });

  it('names the tool behind an output, across turns, while the call waits', () => {
    const { fold } = chain();
    const asked = fold(fold(undefined, given(user('q'))), [
      sampled(call('c1', 'weather'), [1]),
      ...given(call('c2', 'time')),
    ]);
    expect([...asked.rendered.calls]).toEqual([
      ['c1', { name: 'weather', namespace: undefined }],
      ['c2', { name: 'time', namespace: undefined }],
    ]);
    const told = fold(asked, given(output('c1', 'sun')));
    expect(body(told).slice(body(asked).length)).toEqual(block('from weather', 'sun'));
    expect([...told.rendered.calls.keys()]).toEqual(['c2']);
    expect([...asked.rendered.calls.keys()]).toEqual(['c1', 'c2']);
    const cut = fold(asked, given({ ...call('c3'), status: 'incomplete' }));
    expect(cut.rendered.calls).toBe(asked.rendered.calls);
  });

  it('returns the artifact itself when there is nothing to fold', () => {
    const { fold } = chain();
    const root = fold(undefined, given(user('hi')));
    expect(fold(root, []).rendered).toBe(root.rendered);
  });

  it('renders only the head again when its settings change', () => {
    const { fold } = chain();
    const root = fold(undefined, given(user('hi'), answer('ho'), user('more')));
    const schema = { type: 'object' };
    const changes: Partial<ResponseRequest>[] = [
      { instructions: 'New.' },
      { tools: [], toolsKey: '[]' },
      { reasoning: { effort: 'high' } },
      { toolChoice: 'none' },
      { text: { format: { type: 'json_schema', name: 'n', schema } } },
    ];
    for (const settings of changes) {
      const changed = fold(root, [], { settings });
      const controls = 3;
      expect(changed.work).toEqual({ tokens_encoded: head(changed).length - controls });
      expect(head(changed)).not.toEqual(head(root));
      expect(changed.rendered.body).toBe(root.rendered.body);
      expect(head(fold(changed, [], {}))).toEqual(head(root));
      expect(fold(changed, [], { settings }).rendered).toBe(changed.rendered);
    }
    const unseen = fold(root, given(user('x')), {
      settings: { reasoning: { context: 'all_turns' }, toolChoice: 'required' },
    });
    expect(unseen.rendered.head).toBe(root.rendered.head);
  });

  it('keeps the date of the first turn', () => {
    const provider = fakeProvider();
    let date = '2026-01-31';
    const { fold } = chain(fakeFormat(), { ...provider, today: () => date });
    const root = fold(undefined, given(user('hi')));
    date = '2026-02-01';
    const next = fold(root, given(answer('ho')), { settings: { instructions: 'New.' } });
    expect(next.rendered.head.key.date).toBe('2026-01-31');
    expect(fold(root, [], { by: fakeFormat({ name: 'another' }) }).rendered.head.key.date).toBe('2026-01-31');
    expect(fold(undefined, given(user('hi'))).rendered.head.key.date).toBe('2026-02-01');
  });

  it('renders a chain anew from its items when the format changes, and counts it', () => {
    const { fold } = chain();
    const root = fold(fold(undefined, given(user('hi'))), [
      sampled(answer('ho'), [7]),
      sampled(answer('hm'), [8], 'another'),
    ]);
    const another = fakeFormat({ name: 'another', renderHead: () => [] });
    const changed = fold(root, given(user('go')), { by: another });
    expect(changed.rendered.format).toBe('another');
    expect(body(changed)).toEqual([
      ...block('user', 'hi'),
      ...block('assistant', 'ho'),
      8,
      ...block('user', 'go'),
    ]);
    expect(changed.work).toEqual({ items_rendered: 3, tokens_copied: 0, tokens_encoded: 23 });
    expect(fold(changed, given(user('on')), { by: another }).work).toEqual({
      items_rendered: 1,
      tokens_encoded: 6,
    });
  });

  it('encodes only what is new in a long chain', () => {
    const { fold } = chain();
    let node = fold(undefined, given(user('start')));
    const costs = new Set<string>();
    for (let turn = 0; turn < 200; turn += 1) {
      node = fold(node, [sampled(reasoning('r'), [1, 2, 3]), sampled(call(`c${turn}`), [4, 5])]);
      expect(node.work).toEqual({});
      node = fold(node, given(output(`c${turn}`, 'result')));
      costs.add(JSON.stringify(node.work));
    }
    expect([...costs]).toEqual([
      JSON.stringify({ items_rendered: 1, tokens_encoded: 'from lookresult'.length }),
    ]);
    expect(node.rendered.body.jsonChunks().length).toBeLessThanOrEqual(6);
  });

  it('waits for an encoder that works elsewhere', async () => {
    const stage = new RenderingStage(fakeProvider(true));
    const turns = [given(user('a')), given(answer('b'), user('c'))];
    await expectIncremental(stage, options(turns, fakeFormat()));
  });

  it('keeps the three laws for any conversation and any split', async () => {
    await fc.assert(
      fc.asyncProperty(splits(items), policy, async (turns, { drops, context }) => {
        const format = fakeFormat({ dropsFinishedReasoning: drops });
        await expectIncremental(
          new RenderingStage(fakeProvider()),
          options(turns, format, { reasoning: { context } }),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('holds at every turn what a render from scratch by the rules holds', () => {
    fc.assert(
      fc.property(splits(items), policy, (turns, { drops, context }) => {
        const format = fakeFormat({ dropsFinishedReasoning: drops });
        const settings: Partial<ResponseRequest> = { reasoning: { context } };
        const { fold } = chain(format);
        let node: Node | undefined;
        for (const turn of turns) {
          node = fold(node, turn, { settings });
          expect(body(node)).toEqual(byTheRules(node.items, format, drops && context !== 'all_turns'));
          const { length, json } = promptOf(node.rendered, format);
          const whole = [...head(node), ...body(node), ...format.generationPrompt(undefined)];
          expect(JSON.parse(Buffer.concat(json).toString())).toEqual(whole);
          expect(length).toBe(whole.length);
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** How much reasoning is kept: by the format and by the request. */
const policy = fc.constantFrom(
  { drops: true, context: 'auto' as const },
  { drops: true, context: 'current_turn' as const },
  { drops: true, context: 'all_turns' as const },
  { drops: false, context: 'auto' as const },
);

function options(turns: TurnItem[][], format: Format, request: Partial<ResponseRequest> = {}) {
  const equal = (a: Rendered, b: Rendered) => shown(a) === shown(b);
  return { turns, equal, request: { ...REQUEST, ...request }, artifacts: new Map([['format', { format }]]) };
}

/** The body, written down item by item with no thought for what it costs. */
function byTheRules(entries: readonly TurnItem[], format: Format, drops: boolean): number[] {
  const calls = new Map<string, { name: string }>();
  let segments: { kind: string; ids: number[] }[] = [];
  let finished = 0;
  for (const { item, sampled } of entries) {
    const kind = format.segmentKind(item);
    if (drops && kind === 'user' && segments.slice(finished).some((segment) => segment.kind === 'answer')) {
      segments = segments.filter((segment, index) => index < finished || segment.kind !== 'reasoning');
      finished = segments.length;
    }
    const pieces =
      sampled?.format === format.name
        ? [...sampled.ids]
        : format.renderItem(item, { calls, place: undefined }).pieces;
    segments.push({
      kind,
      ids: pieces.flatMap((piece) => (typeof piece === 'string' ? idsOf(piece) : [piece])),
    });
    if (item.type === 'function_call') calls.set(item.call_id, { name: item.name });
  }
  return segments.flatMap(({ ids }) => ids);
}
