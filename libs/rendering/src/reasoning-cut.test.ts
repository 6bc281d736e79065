import { describe, expect, it } from '@jest/globals';
import type { Format } from '@turnpike/formats';
import type { ResponseRequest } from '@turnpike/protocol';
import { block, body, chain } from './testing/chain.js';
import { answer, call, given, output, reasoning, sampled, user } from './testing/conversations.js';
import { fakeFormat } from './testing/fake-format.js';

describe('reasoning of finished turns', () => {
  /** A turn with two stretches of reasoning, sampled: u1 r1 c1 o1 r2 a1. */
  function answered(format?: Format, settings?: Partial<ResponseRequest>) {
    const { fold, calls } = chain(format);
    const withSettings = settings ? { settings } : {};
    let node = fold(undefined, given(user('u1')), withSettings);
    node = fold(node, [sampled(reasoning('r1'), [11, 12]), sampled(call('c1'), [13])], withSettings);
    node = fold(node, given(output('c1', 'o1')), withSettings);
    node = fold(node, [sampled(reasoning('r2'), [21]), sampled(answer('a1'), [22, 23])], withSettings);
    return { fold, node, calls };
  }
  const asked = block('user', 'u1');
  const told = block('from look', 'o1');
  const uncut = [...asked, 11, 12, 13, ...told, 21, 22, 23];
  const cut = [...asked, 13, ...told, 22, 23];

  it('is cut by its ids when the next user item comes, and only then', () => {
    const { fold, node } = answered();
    expect(body(node)).toEqual(uncut);
    const next = fold(node, given(user('u2')));
    expect(body(next)).toEqual([...cut, ...block('user', 'u2')]);
    expect(next.work).toEqual({ items_rendered: 1, tokens_encoded: 6, tokens_copied: 1 + told.length + 2 });
    expect(body(node)).toEqual(uncut);
  });

  it('shares everything before the first cut with the parent', () => {
    const { fold, node } = answered();
    const [first] = fold(node, given(user('u2'))).rendered.body.jsonChunks();
    expect(first?.buffer).toBe(node.rendered.body.jsonChunks()[0]?.buffer);
    expect(first?.toString()).toBe(asked.map((id) => `${id},`).join(''));
  });

  it('is cut once: the next cut copies its own turn only', () => {
    const { fold, node } = answered();
    let next = fold(node, given(user('u2'), user('and')));
    next = fold(next, [sampled(reasoning('r3'), [31]), sampled(answer('a2'), [32])]);
    next = fold(next, given(user('u3')));
    expect(body(next)).toEqual([
      ...cut,
      ...block('user', 'u2'),
      ...block('user', 'and'),
      32,
      ...block('user', 'u3'),
    ]);
    expect(next.work['tokens_copied']).toBe(1);
  });

  it('stays while no answer has come: in a tool loop, or behind an interruption', () => {
    const { fold } = chain();
    let node = fold(undefined, given(user('u1')));
    node = fold(node, [sampled(reasoning('r1'), [11]), sampled(answer('wait', 'commentary'), [12])]);
    node = fold(node, given(user('u2')));
    expect(body(node)).toEqual([...asked, 11, 12, ...block('user', 'u2')]);
    node = fold(node, [sampled(reasoning('r2'), [21]), sampled(answer('a'), [22])]);
    node = fold(node, given(user('u3')));
    expect(body(node)).toEqual([...asked, 12, ...block('user', 'u2'), 22, ...block('user', 'u3')]);
  });

  it('stays behind a cut as well until the next answer', () => {
    const { fold, node } = answered();
    let next = fold(node, given(user('u2')));
    next = fold(next, [sampled(reasoning('r3'), [31])]);
    next = fold(next, given(user('u3')));
    expect(body(next)).toEqual([...cut, ...block('user', 'u2'), 31, ...block('user', 'u3')]);
  });

  it('stays when the request wants all turns, and can be cut by a later one', () => {
    const settings: Partial<ResponseRequest> = { reasoning: { context: 'all_turns' } };
    const { fold, node } = answered(undefined, settings);
    const kept = fold(node, given(user('u2')), { settings });
    expect(body(kept)).toEqual([...uncut, ...block('user', 'u2')]);
    expect(body(fold(kept, given(user('u3'))))).toEqual([
      ...cut,
      ...block('user', 'u2'),
      ...block('user', 'u3'),
    ]);
  });

  it('stays in a format that keeps it', () => {
    const { fold, node } = answered(fakeFormat({ dropsFinishedReasoning: false }));
    expect(body(fold(node, given(user('u2'))))).toEqual([...uncut, ...block('user', 'u2')]);
  });

  it('is not even encoded when it comes in with the user item that finishes its turn', () => {
    const { fold, calls } = chain();
    fold(undefined, given(user('u1'), reasoning('dropped'), answer('a1'), user('u2'), reasoning('running')));
    expect(calls[0]).not.toContain('dropped');
    expect(calls[0]).toContain('running');
  });

  it('is cut in one branch and stays in the other', () => {
    const { fold, node } = answered();
    const left = fold(node, given(user('left')));
    const right = fold(node, [sampled(call('c2'), [41])]);
    const further = fold(right, given(output('c2'), user('right')));
    expect(body(left)).toEqual([...cut, ...block('user', 'left')]);
    expect(body(right)).toEqual([...uncut, 41]);
    expect(body(further)).toEqual([...cut, 41, ...block('from look', 'found'), ...block('user', 'right')]);
  });
});
