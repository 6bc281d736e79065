import { describe, expect, it } from '@jest/globals';
import type { Format } from '@turnpike/formats';
import { parseItem, parseRequest, type Item } from '@turnpike/protocol';
import { Rendering, RenderingStage, type FormatProvider, type Rendered } from '@turnpike/rendering';
import { readRulePack, RuleSet, safetyPolicy, SafetyStage } from '@turnpike/safety';
import { Pipeline, stageToken, TurnContext, type Artifacts, type TurnItem } from '@turnpike/turns';
import { FORMATS } from './every-format.js';
import { FIXED, marked, tools, wordsIn } from './marked-words.js';

/** As in rendered.test.ts, over the turns of a chain and by the stages themselves: what was classified, what is in the prompt. */
const user = (text: string) => ({
  role: 'user',
  content: [
    { type: 'input_text', text },
    { type: 'input_text', text: 'more' },
  ],
});
const thought = (text: string) => ({
  type: 'reasoning',
  summary: [],
  content: [{ type: 'reasoning_text', text }],
});
const answer = { role: 'assistant', content: [{ type: 'output_text', text: 'a' }] };

const TURNS: readonly (readonly object[])[] = [
  [{ role: 'developer', content: 'd' }, user('a')],
  // Parallel calls of each kind, then their outputs in another order.
  [
    thought('t'),
    { role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'a' }] },
    { type: 'function_call', call_id: 'c1', name: 'n', arguments: '{"a":"b","c":["d"]}' },
    { type: 'function_call', call_id: 'c2', name: 'n', namespace: 's', arguments: '{"FREE":"b"}' },
    { type: 'custom_tool_call', call_id: 'c3', name: 'c', input: 'i' },
    { type: 'shell_call', call_id: 'c4', action: { commands: ['a'], FREE: 'b' } },
    {
      type: 'shell_call_output',
      call_id: 'c4',
      output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 0 } }],
    },
    { type: 'custom_tool_call_output', call_id: 'c3', output: [{ type: 'input_text', text: 'p' }] },
    { type: 'function_call_output', call_id: 'c1', output: 'o' },
    {
      type: 'function_call_output',
      call_id: 'c2',
      output: [
        { type: 'input_text', text: 'p' },
        { type: 'input_text', text: 'q' },
      ],
    },
  ],
  [thought('t'), answer, user('b')],
  [
    { type: 'tool_search_call', call_id: 'c5', execution: 'client', arguments: { FREE: 'a' } },
    { type: 'tool_search_output', call_id: 'c5', execution: 'client', tools },
    { type: 'additional_tools', role: 'developer', tools },
    user('c'),
  ],
];
/** What sealed items stand for: in their own place, and in that of everything before them. */
const EXPANSIONS = [
  { items: [user('kept'), { role: 'developer', content: 'summary' }], replaces: false },
  {
    items: [
      { role: 'developer', content: 'rule' },
      { type: 'additional_tools', role: 'developer', tools },
      user('kept'),
      answer,
      { role: 'developer', content: 'summary' },
    ],
    replaces: true,
  },
];

/** Calls find their outputs; that ids are read is in rendered.test.ts. */
const KEPT = new Set([...FIXED, 'call_id']);
const itemOf = (fields: object): Item => parseItem(marked(fields, KEPT), 'input[0]');

/** The turns with words of their own. */
function markedTurns(): TurnItem[][] {
  const plain = TURNS.map((items) => items.map((fields): TurnItem => ({ item: itemOf(fields) })));
  const sealed = EXPANSIONS.map(({ items, replaces }): TurnItem[] => [
    {
      item: { type: 'compaction', encrypted_content: 'sealed' },
      expansion: { items: items.map(itemOf), replaces },
    },
    { item: itemOf(user('on')) },
  ]);
  return [...plain, ...sealed];
}

const FormatOf = stageToken<{ readonly format: Format }>('format');

/** Folds the turns, and tells of each what had been classified up to then and what was in its prompt. */
async function foldAll(format: Format): Promise<{ read: ReadonlySet<string>; shown: string[] }[]> {
  const read = new Set<string>();
  const classifier = {
    name: 'recorder',
    version: '1',
    classify: ({ texts }: { texts: readonly { text: string }[] }) => {
      for (const { text } of texts) for (const word of wordsIn(text)) read.add(word);
      return { action: 'pass' as const, categories: [] };
    },
  };
  const rules = new RuleSet([readRulePack('default')]);
  const safety = new SafetyStage({
    policy: safetyPolicy({ rules, window: 0, failure: 'closed', classifier }),
  });
  const provider: FormatProvider = {
    formatToken: FormatOf,
    encoder: ({ tokenizer }) => ({ encodeAll: (texts) => texts.map((text) => tokenizer.encode(text)) }),
    today: () => '2026-01-01',
  };
  const route = { token: FormatOf, needs: [], advance: () => ({ format }) };
  const pipeline = new Pipeline([route, safety], [new RenderingStage(provider)]);
  const request = parseRequest(
    {
      model: 'm',
      input: 'x',
      instructions: marked('be kind', FIXED),
      tools: marked(tools, FIXED),
    },
    'http',
  );
  const made: { read: ReadonlySet<string>; shown: string[] }[] = [];
  let known: TurnItem[] = [];
  let artifacts: Artifacts | undefined;
  for (const items of markedTurns()) {
    const before = known;
    const turn = new TurnContext({ id: 'resp_1', tenant: 't', request, items, history: () => before });
    artifacts = await pipeline.run(turn, artifacts);
    const { head, body, end } = artifacts.get(Rendering.name) as Rendered;
    const ids = [...head.tokens.toIds(), ...body.toIds(), ...end.closing];
    made.push({ read: new Set(read), shown: wordsIn(format.tokenizer.decode(ids)) });
    known = [...before, ...items];
  }
  return made;
}

describe('every string of a prompt has been classified', () => {
  it.each(FORMATS.map((format) => [format.name, format] as const))('%s', async (_name, format) => {
    const turns = await foldAll(format);
    for (const [index, { read, shown }] of turns.entries()) {
      expect([index, shown.filter((word) => !read.has(word))]).toEqual([index, []]);
    }
    // Before what stands for everything, every turn adds to the prompt.
    const counts = turns.slice(0, -1).map(({ shown }) => new Set(shown).size);
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    // Behind it nothing is left of what it stands for.
    const words = turns.map(({ shown }) => new Set(shown));
    const first = wordsIn(JSON.stringify([...(words[1] ?? [])])).filter((word) => !words[0]?.has(word));
    expect(first.length).toBeGreaterThan(8);
    expect(first.filter((word) => words.at(-1)?.has(word))).toEqual([]);
  });
});
