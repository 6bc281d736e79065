import { describe, expect, it } from '@jest/globals';
import { EncodeQueue } from './encode-queue.js';
import { o200kHarmony } from './o200k-harmony.js';

const tokenizer = o200kHarmony();

/** Ids of the jobs in the order in which they finish, and the steps that took. */
function run(queue: EncodeQueue): { order: number[]; steps: number } {
  const order: number[] = [];
  let steps = 0;
  for (; !queue.idle; steps++) {
    const done = queue.step();
    if (done !== undefined) order.push(done.id);
  }
  return { order, steps };
}

describe('EncodeQueue', () => {
  it.each([
    ['one long word', 'a'.repeat(60_000)],
    ['one long run of signs', '^'.repeat(40_000)],
    ['spaces', ' '.repeat(40_000)],
    ['Hangul', '가나'.repeat(15_000)],
    ['emoji', '😀👩‍👩‍👧'.repeat(4_000)],
    ['prose', 'It was the 1st day; we\'ve "seen" it.\r\n\n\tfoo_bar(x) '.repeat(4_000)],
  ])('encodes %s in steps to the ids of encoding it whole', (_, text) => {
    const queue = new EncodeQueue(tokenizer);
    queue.add(1, ['first', text, 'last']);
    let steps = 0;
    let done: ReturnType<EncodeQueue['step']>;
    while ((done = queue.step()) === undefined) steps++;
    expect(steps).toBeGreaterThan(3);
    // As text: long lists are slow to compare one by one.
    expect(done.ids.map(String)).toEqual(
      ['first', text, 'last'].map((each) => String(tokenizer.encode(each))),
    );
  });

  it('does not make a short job wait for long ones, whether of one text or of many', () => {
    const queue = new EncodeQueue(tokenizer);
    for (let id = 1; id <= 8; id++)
      queue.add(id, id % 2 ? ['a'.repeat(2_000_000)] : Array<string>(20_000).fill('a b '.repeat(20)));
    for (let i = 0; i < 5; i++) expect(queue.step()).toBeUndefined();
    queue.add(9, ['turn '.repeat(4_600)]);
    const finished = Array.from({ length: 5 }, () => queue.step()?.id).filter((id) => id !== undefined);
    expect(finished).toEqual([9]);
  });

  it('gives every other step to the oldest job, however many shorter ones there are', () => {
    const queue = new EncodeQueue(tokenizer);
    queue.add(0, ['word '.repeat(100_000)]);
    const { steps: alone } = run(queue);
    queue.add(0, ['word '.repeat(100_000)]);
    let steps = 0;
    for (let done = -1; done !== 0; steps++) {
      queue.add(steps + 1, ['short '.repeat(3_000)]);
      done = queue.step()?.id ?? -1;
    }
    expect(steps).toBeLessThanOrEqual(2 * alone + 1);
  });

  it('works on two large jobs at a time, whose scratch memory is large as well', () => {
    const begun = new Set<string>();
    const queue = new EncodeQueue({
      steps: function* (text) {
        begun.add(text);
        for (let i = 0; i < 10; i++) yield;
        return new Int32Array(0);
      },
    });
    for (let id = 1; id <= 6; id++) {
      queue.add(id, ['x'.repeat(2_000_000 - id)]);
      queue.step();
    }
    expect(begun.size).toBe(2);
    expect(run(queue).order).toHaveLength(6);
  });

  it('drops a job between two steps', () => {
    const queue = new EncodeQueue(tokenizer);
    queue.add(1, ['a'.repeat(1_000_000)]);
    queue.add(2, ['b'.repeat(20_000)]);
    queue.step();
    queue.drop(1);
    queue.drop(7);
    expect(run(queue).order).toEqual([2]);
  });
});
