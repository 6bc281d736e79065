import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { expectIncremental } from '@turnpike/turns';
import { promptLength, promptOf } from './prompt.js';
import type { Rendered } from './rendered.js';
import { renderedCodec } from './rendered-codec.js';
import { RenderingStage } from './rendering.stage.js';
import { chain, REQUEST, type Node } from './testing/chain.js';
import { answer, given, items, output, reasoning, sampled, splits, user } from './testing/conversations.js';
import { END, fakeProvider, idsOf, START } from './testing/fake-format.js';
import { THINK, THOUGHT, turnFormat } from './testing/turn-format.js';

const format = turnFormat();
const opened = format.generationPrompt(undefined);
const turn = (by: string, ...parts: (string | number)[]) => [
  START,
  ...[by, ...parts].flatMap((part) => (typeof part === 'number' ? [part] : idsOf(part))),
  END,
  ...idsOf('\n'),
];

function prompt({ rendered }: Pick<Node, 'rendered'>, written: readonly number[][] = []): number[] {
  const ending = { written: written.map((ids) => ({ item: answer('w'), ids: Int32Array.from(ids) })) };
  const { json, length } = promptOf(rendered, format, ending);
  const ids = JSON.parse(Buffer.concat(json).toString()) as number[];
  expect(length).toBe(ids.length);
  if (written.length === 0) expect(promptLength(rendered, format)).toBe(length);
  return ids.slice(rendered.head.tokens.length);
}

function shown({ head, body, end, ...rest }: Rendered): string {
  const ids = [head.tokens, body].map((log) => [...log.toIds()]);
  return JSON.stringify([
    rest.format,
    head.key,
    ids,
    rest.tail,
    [...rest.calls],
    end.place,
    [...end.closing],
  ]);
}

describe('items that share a turn', () => {
  it('stand in one, with their texts encoded as one, however they came in', () => {
    const { fold, calls } = chain(format);
    const asked = fold(undefined, given(user('q'), output('a', 'x'), output('b', 'y')));
    expect(prompt(asked)).toEqual([...turn('user', 'q'), ...turn('tools', '[x][y]'), ...opened]);
    expect(calls[0]?.slice(-2)).toEqual(['[x][y]', '\n']);
    const more = fold(asked, given(output('c', 'z'), answer('w')));
    expect(prompt(more)).toEqual([
      ...turn('user', 'q'),
      ...turn('tools', '[x][y][z]'),
      ...turn('assistant', 'w'),
      ...opened,
    ]);
    expect(calls[1]).toContain('[x][y][z]');
  });

  it('are closed before a turn that was sampled, and go on inside one', () => {
    const { fold } = chain(format);
    const asked = fold(undefined, given(output('a', 'x')));
    const thought = [...opened, THINK, 1, THOUGHT];
    const written = [thought, [2, 3, END]];
    const answered = fold(asked, [
      sampled(reasoning('r'), thought, 'turns'),
      sampled(answer('w'), [2, 3, END], 'turns'),
    ]);
    const expected = [...turn('tools', '[x]'), ...thought, 2, 3, END, ...idsOf('\n'), ...opened];
    expect(prompt(answered)).toEqual(expected);
    // A second request behind the same items, before they are folded.
    expect(prompt(asked, written)).toEqual(expected);
    expect(answered.work['tokens_encoded']).toBe(1);
  });

  it('are rendered where ids cannot stand', () => {
    const { fold } = chain(turnFormat({ takeOver: () => undefined }));
    const node = fold(undefined, [sampled(answer('w'), [1, 2], 'turns')]);
    expect(prompt(node)).toEqual([...turn('assistant', 'w'), ...opened]);
  });

  it('lose of finished reasoning what the format cuts, sampled or not', () => {
    const { fold } = chain(format);
    const thought = [...opened, THINK, 1, THOUGHT];
    for (const thinks of [given(reasoning('r')), [sampled(reasoning('r'), thought, 'turns')]]) {
      let node = fold(undefined, given(user('q')));
      node = fold(node, [...thinks, sampled(answer('w'), [2, END], 'turns')]);
      const next = fold(node, given(user('p')));
      expect(prompt(next)).toEqual([
        ...turn('user', 'q'),
        ...opened,
        2,
        END,
        ...idsOf('\n'),
        ...turn('user', 'p'),
        ...opened,
      ]);
    }
  });

  it('keep the three laws, and come back from a store as they were', async () => {
    const equal = (a: Rendered, b: Rendered) => shown(a) === shown(b);
    await fc.assert(
      fc.asyncProperty(splits(items), async (turns) => {
        const artifacts = new Map([['format', { format }]]);
        const stage = new RenderingStage(fakeProvider());
        await expectIncremental(stage, { turns, equal, request: REQUEST, artifacts });
        const { fold } = chain(format);
        const nodes: Node[] = [];
        for (const turn of turns) nodes.push(fold(nodes.at(-1), turn));
        const records = nodes.map(({ rendered }, index) =>
          renderedCodec.encode(rendered, nodes[index - 1]?.rendered),
        );
        const { state, ids } = { state: JSON.stringify(records.map((each) => each.state)), ids: records };
        const stored = (JSON.parse(state) as unknown[]).map((each, index) => ({
          state: each,
          ids: ids[index]?.ids ?? new Int32Array(),
        }));
        const last = nodes.at(-1)?.rendered;
        if (last !== undefined) expect(shown(renderedCodec.decode(stored, () => []))).toBe(shown(last));
      }),
      { numRuns: 60 },
    );
  });
});
