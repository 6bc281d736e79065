import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ArtifactRecord } from '@turnpike/turns';
import type { Rendered } from './rendered.js';
import { renderedCodec } from './rendered-codec.js';
import { body, chain, type Node } from './testing/chain.js';
import {
  answer,
  call,
  given,
  output,
  reasoning,
  sampled,
  SCHEMA,
  update,
  user,
} from './testing/conversations.js';

/** As a database gives it back. */
function throughJson({ state, ids }: ArtifactRecord): ArtifactRecord {
  return { state: JSON.parse(JSON.stringify(state)) as unknown, ids: Int32Array.from(ids) };
}

function recordsOf(nodes: readonly Node[]): ArtifactRecord[] {
  return nodes.map(({ rendered }, index) =>
    throughJson(renderedCodec.encode(rendered, nodes[index - 1]?.rendered)),
  );
}

function plain({ head, body: ids, end, ...rest }: Rendered): unknown {
  return {
    ...rest,
    place: end.place,
    closing: [...end.closing],
    key: head.key,
    head: [...head.tokens.toIds()],
    body: [...ids.toIds()],
  };
}

describe('renderedCodec', () => {
  it('gives back the conversation after every turn', () => {
    const turn = fc.constantFrom(
      (_: string) => given(user('u')),
      (_: string) => [sampled(reasoning('r'), [11, 12]), sampled(answer('a'), [22])],
      (_: string) => [sampled(reasoning('r'), [11])],
      (id: string) => [sampled(call(id), [13])],
      (id: string) => given(call(id), output(id)),
      (_: string) => given(update({ effort: 'high' })),
      (_: string) => given(update({ format: SCHEMA }), update({ effort: 'low' })),
      (_: string) => [],
    );
    const settings = fc.constantFrom({}, {}, {}, { instructions: 'Be brief.' });
    fc.assert(
      fc.property(fc.array(fc.tuple(turn, settings), { minLength: 1, maxLength: 12 }), (turns) => {
        const { fold } = chain();
        const nodes: Node[] = [];
        turns.forEach(([items, each], index) => {
          nodes.push(fold(nodes.at(-1), items(`c${index}`), { settings: each }));
        });
        const records = recordsOf(nodes);
        nodes.forEach(({ rendered }, index) => {
          expect(plain(renderedCodec.decode(records.slice(0, index + 1), () => []))).toEqual(plain(rendered));
        });
      }),
    );
  });

  it('keeps what a turn appended, and the head only when it changed', () => {
    const { fold } = chain();
    const first = fold(undefined, given(user('one')));
    const second = fold(first, given(user('two')));
    const third = fold(second, given(user('three')), { settings: { instructions: 'Be brief.' } });
    const [, appended, changed] = recordsOf([first, second, third]);
    expect([...(appended?.ids ?? [])]).toEqual(body(second).slice(body(first).length));
    expect(appended?.state).not.toHaveProperty('head');
    expect(changed?.state).toHaveProperty('head.key.instructions', 'Be brief.');
  });

  it('keeps settings where an item changes them, and reads records from before there were any', () => {
    const { fold } = chain();
    const first = fold(undefined, given(user('one')));
    const second = fold(first, given(update({ effort: 'high' })));
    const third = fold(second, given(user('two')));
    const records = recordsOf([first, second, third]);
    expect(records.map(({ state }) => 'settings' in (state as object))).toEqual([false, true, false]);
    expect(renderedCodec.decode(records, () => []).settings).toEqual({ effort: 'high' });
    expect(renderedCodec.decode(records.slice(0, 1), () => []).settings).toEqual({});
  });

  it('says of a cut what is kept and what stands behind it', () => {
    const { fold } = chain();
    const first = fold(undefined, given(user('one')));
    const second = fold(first, [sampled(reasoning('r'), [11, 12]), sampled(answer('a'), [22, 23])]);
    const third = fold(second, given(user('two')));
    const [, , cut] = recordsOf([first, second, third]);
    expect(cut?.state).toMatchObject({ kept: body(first).length, reasoning: { kept: false, added: [] } });
    expect([...(cut?.ids ?? [])]).toEqual(body(third).slice(body(first).length));
  });
});
