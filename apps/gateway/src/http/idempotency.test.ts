import { describe, expect, it } from '@jest/globals';
import { IdempotentAnswers, type Claim } from './idempotency.js';

/** Begins a request that nobody has sent before. */
async function begin(answers: IdempotentAnswers, key: string, tenant = 'a'): Promise<Claim> {
  const claimed = await answers.claim(tenant, key, '{}');
  if ('kind' in claimed) throw new Error('it was answered before');
  return claimed;
}

async function isKept(answers: IdempotentAnswers, key: string, tenant = 'a'): Promise<boolean> {
  const claimed = await answers.claim(tenant, key, '{}');
  if (!('kind' in claimed)) claimed.release();
  return 'kind' in claimed;
}

const text = (characters: number) => ({ kind: 'json', id: 'resp_1', text: 'x'.repeat(characters) }) as const;

describe('IdempotentAnswers', () => {
  it('forgets an answer after its time', async () => {
    let now = 0;
    const answers = new IdempotentAnswers({ perTenant: 10, characters: 100, ttlMs: 1_000, now: () => now });
    (await begin(answers, 'k')).keep(text(1));
    now = 999;
    expect(await isKept(answers, 'k')).toBe(true);
    now = 1_000;
    expect(await isKept(answers, 'k')).toBe(false);
  });

  it('keeps so many of one tenant, the oldest go first, and what is being answered stays', async () => {
    const answers = new IdempotentAnswers({ perTenant: 2, characters: 100, ttlMs: 1_000 });
    (await begin(answers, 'k', 'b')).keep(text(1));
    const running = await begin(answers, '1');
    (await begin(answers, '2')).keep(text(1));
    (await begin(answers, '3')).keep(text(1));
    expect(await isKept(answers, '3')).toBe(true);
    expect(await isKept(answers, '2')).toBe(false);
    running.keep(text(1));
    expect([await isKept(answers, '1'), await isKept(answers, 'k', 'b')]).toEqual([true, true]);
  });

  it('keeps so many characters', async () => {
    const answers = new IdempotentAnswers({ perTenant: 10, characters: 100, ttlMs: 1_000 });
    (await begin(answers, '1')).keep(text(60));
    (await begin(answers, '2')).keep(text(60));
    expect([await isKept(answers, '1'), await isKept(answers, '2')]).toEqual([false, true]);
    (await begin(answers, '3')).keep(text(101));
    expect(await isKept(answers, '3')).toBe(false);
  });

  it('lets one of those who waited begin when nothing came of the first', async () => {
    const answers = new IdempotentAnswers();
    const first = await begin(answers, 'k');
    const others = [answers.claim('a', 'k', '{}'), answers.claim('a', 'k', '{}')];
    first.release();
    const second = await others[0];
    if (second === undefined || 'kind' in second) throw new Error('nobody has answered it');
    second.keep(text(1));
    expect(await others[1]).toEqual(text(1));
  });
});
