import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DIALOG_FAMILIES, familyFormat, o200kHarmony, type Format, type Tokenizer } from '@turnpike/formats';
import { callMadeBy, parseRequest, type Item } from '@turnpike/protocol';
import { promptOf, Rendering, renderedCodec, RenderingStage, type Rendered } from '@turnpike/rendering';
import { expectIncremental, Pipeline, stageToken, TurnContext, type TurnItem } from '@turnpike/turns';

/** A real vocabulary that has any control token that is asked for; a file of its own by its fingerprint. */
function vocabulary(fingerprint = 'any'): Tokenizer {
  const text = o200kHarmony();
  const controls: string[] = [];
  const literal = (id: number) => controls[id - text.vocabularySize];
  return {
    name: 'any',
    source: 'o200k_harmony',
    fingerprint,
    vocabularySize: text.vocabularySize + 100,
    encode: (string) => text.encode(string),
    controlId: (token) => {
      if (/parameter|function|invoke/.test(token)) return undefined; // tags of calls are text in every vocabulary
      if (!/^(<.*>|\[.*\]|\].*\[|\].*\]|\[.*\[)$/s.test(token) || /[\s"=]/.test(token)) return undefined;
      if (!controls.includes(token)) controls.push(token);
      return text.vocabularySize + controls.indexOf(token);
    },
    bytes: (id) => Buffer.from(literal(id) ?? text.bytes(id)),
    decode: (ids) => Array.from(ids, (id) => literal(id) ?? text.decode([id])).join(''),
    detokenizer: () => text.detokenizer(),
  };
}

const FormatOf = stageToken<{ readonly format: Format }>('format');
const tokenizer = vocabulary();
const stage = new RenderingStage({
  formatToken: FormatOf,
  encoder: () => ({ encodeAll: (texts) => texts.map((text) => tokenizer.encode(text)) }),
  today: () => '2026-01-31',
});
const tools = [
  { type: 'function', name: 'look', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
];
const request = parseRequest({ model: 'm', instructions: 'Be brief.', tools }, 'http');

interface Node {
  readonly rendered: Rendered;
  readonly items: readonly TurnItem[];
}

function fold(format: Format, parent: Node | undefined, added: readonly TurnItem[]): Node {
  const items = [...(parent?.items ?? []), ...added];
  const turn = new TurnContext({
    id: 'resp_1',
    tenant: 't',
    request,
    items: added,
    history: () => parent?.items ?? [],
  });
  const route = { token: FormatOf, needs: [], advance: () => ({ format }) };
  const made = new Pipeline([route, stage]).run(turn, parent && new Map([['rendering', parent.rendered]]));
  if (made instanceof Promise) throw new Error('Nothing here waits.');
  return { rendered: made.get(Rendering.name) as Rendered, items };
}

function prompt({ rendered }: Node, format: Format): { ids: number[]; opened: readonly number[] } {
  const { json, opened } = promptOf(rendered, format);
  return { ids: JSON.parse(Buffer.concat(json).toString()) as number[], opened };
}

/** What a model would sample for these items behind a prompt: what history has for them, without what is opened for it. */
function sampledFor(format: Format, node: Node, items: readonly Item[], opened: readonly number[]): number[] {
  const calls = new Map<string, { name: string; namespace?: string | undefined }>();
  let { place } = node.rendered.end;
  const closing = format.closing(place).length;
  const pieces: (string | number)[] = [];
  for (const item of items) {
    const rendered = format.renderItem(item, { calls, place });
    pieces.push(...rendered.pieces);
    ({ place } = rendered);
    const call = callMadeBy(item);
    if (call !== undefined) calls.set(call.id, call);
  }
  const ended = [...pieces, ...format.closing(place)].slice(closing);
  const ids = ended.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
  const stop = ids.findLastIndex((id) => format.stopIds.includes(id));
  const written = stop === -1 ? [...ids, ...format.stopIds.slice(0, 1)] : ids.slice(0, stop + 1);
  return written.slice(common(written, opened));
}

function common(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length += 1;
  return length;
}

/** The items that a parser reads from ids, with theirs. */
function read(format: Format, ids: readonly number[], opened: readonly number[], turn: number): TurnItem[] {
  const parser = format.parser(tools, opened);
  const events = [...parser.push(ids), ...parser.finish('stop')];
  const items: TurnItem[] = [];
  let header: { type: string; name?: string } = { type: '' };
  let text = '';
  for (const event of events) {
    if (event.kind === 'open') {
      ({ header } = event);
      text = '';
    } else if (event.kind === 'text') text += event.text;
    else
      items.push({
        item: itemOf(header, text, `call_${turn}_${items.length}`),
        sampled: { format: format.name, ids: event.ids ?? new Int32Array() },
      });
  }
  return items;
}

function itemOf({ type, name = '' }: { type: string; name?: string }, text: string, id: string): Item {
  if (type === 'reasoning') return { type, summary: [], content: [{ type: 'reasoning_text', text }] };
  if (type === 'function_call') return { type, call_id: id, name, arguments: text };
  const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }];
  return { type: 'message', role: 'assistant', content, phase: 'final_answer' };
}

const user = (text: string): TurnItem => ({
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const said = (text: string): Item => itemOf({ type: 'message' }, text, '');
const thought: Item = itemOf({ type: 'reasoning' }, 'Hm, 생각.', '');
const called = (id: string): Item => itemOf({ type: 'function_call', name: 'look' }, '{"q": "집"}', id);

describe.each(DIALOG_FAMILIES)('%s', (family) => {
  const format = familyFormat(family, tokenizer);
  const reasons = format.dropsFinishedReasoning && family !== 'deepseek-v3.1';

  it('C13: the next prompt of a tool loop begins with the whole prompt before and all that was sampled', () => {
    let node = fold(format, undefined, [user('look around 👋')]);
    for (let turn = 0; turn < 4; turn++) {
      const { ids, opened } = prompt(node, format);
      const parallel = format.name.startsWith('llama3') ? ['a'] : ['a', 'b'];
      const output = sampledFor(
        format,
        node,
        [...(reasons ? [thought] : []), said('Let me see.'), ...parallel.map(called)],
        opened,
      );
      const items = read(format, output, opened, turn);
      const answered = fold(format, node, items);
      const calls = items.flatMap(({ item }) => (item.type === 'function_call' ? [item] : []));
      if (family !== 'llama3')
        expect(calls.map(({ arguments: args }) => JSON.parse(args) as unknown)).toEqual(
          parallel.map(() => ({ q: '집' })),
        );
      const outputs = calls.map((call): TurnItem => ({
        item: { type: 'function_call_output', call_id: call.call_id, output: '문' },
      }));
      node = fold(format, answered, outputs.length > 0 ? outputs : [user('go on')]);
      const next = prompt(node, format).ids;
      // The mark of the next turn, where that is what ends one, is sampled and then written again.
      const kept = format.stopIds.includes(output.at(-1) ?? -1) ? 1 : 0;
      expect(common(next, [...ids, ...output])).toBeGreaterThanOrEqual(ids.length + output.length - kept);
    }
  });

  it('C13: of a finished turn only its reasoning is lost, from where it stood', () => {
    const asked = fold(format, undefined, [user('a long text '.repeat(500))]);
    const { ids, opened } = prompt(asked, format);
    const output = sampledFor(format, asked, [...(reasons ? [thought] : []), said('OK')], opened);
    const node = fold(format, fold(format, asked, read(format, output, opened, 0)), [user('short')]);
    const next = prompt(node, format).ids;
    expect(common(next, ids)).toBeGreaterThanOrEqual(ids.length - opened.length);
    expect(tokenizer.decode(next)).not.toContain('생각');
    expect(tokenizer.decode(next)).toContain('OK');
  });

  it('renders a chain anew that comes back from a store to another vocabulary in the same file', () => {
    const ids = [
      ...format.generationPrompt(undefined),
      ...tokenizer.encode('sampled'),
      ...format.stopIds.slice(0, 1),
    ];
    const answer = { item: said('sampled'), sampled: { format: format.name, ids: Int32Array.from(ids) } };
    const node = fold(format, fold(format, undefined, [user('hi')]), [answer]);
    const { state, ids: stored } = renderedCodec.encode(node.rendered, undefined);
    const rendered = renderedCodec.decode([{ state, ids: stored }], () => []);
    const other = familyFormat(family, vocabulary('another'));
    const next = fold(other, { rendered, items: node.items }, [user('more')]);
    const anew = fold(other, undefined, [...node.items, user('more')]);
    expect(next.rendered.format).not.toBe(rendered.format);
    expect([...next.rendered.body.toIds()]).toEqual([...anew.rendered.body.toIds()]);
  });

  it('keeps the three laws of a stage, and comes back from a store', async () => {
    const sampled = (item: Item, ids: number[]): TurnItem => ({
      item,
      sampled: { format: format.name, ids: Int32Array.from(ids) },
    });
    const opened = format.generationPrompt(undefined);
    const end = format.stopIds.slice(0, 1);
    const step = fc.constantFrom<TurnItem[]>(
      [user('질문')],
      [{ item: said('answer') }],
      [{ item: thought }],
      [{ item: thought }, { item: said('answer') }],
      [{ item: called('c1') }, { item: { type: 'function_call_output', call_id: 'c1', output: '문 "x"' } }],
      [{ item: called('c2') }, { item: called('c3') }],
      [sampled(said('sampled'), [...opened, ...tokenizer.encode('sampled'), ...end])],
      [sampled(said('cut'), [...opened, ...tokenizer.encode('cut')])],
      [{ item: { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rule' }] } }],
    );
    const shown = ({ head, body, end: { place, closing }, ...rest }: Rendered) =>
      JSON.stringify([
        rest.format,
        [...head.tokens.toIds()],
        [...body.toIds()],
        place ?? null,
        [...closing],
        rest.tail,
        [...rest.calls],
      ]);
    const equal = (a: Rendered, b: Rendered) => shown(a) === shown(b);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (turns) => {
        await expectIncremental(stage, {
          turns,
          equal,
          request,
          artifacts: new Map([['format', { format }]]),
        });
        let node: Node | undefined;
        const records = turns.map((turn) => {
          const before = node?.rendered;
          node = fold(format, node, turn);
          const { state, ids } = renderedCodec.encode(node.rendered, before);
          return { state: JSON.parse(JSON.stringify(state)) as unknown, ids };
        });
        if (node !== undefined)
          expect(shown(renderedCodec.decode(records, () => []))).toBe(shown(node.rendered));
      }),
      { numRuns: 5 },
    );
  });
});
