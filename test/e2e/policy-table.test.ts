import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { CASES, type Case } from './policy/cases.js';
import type { Played } from './policy/plays.js';
import { FACTORS, PolicyStand, PRICE } from './policy/stand.js';

/** Every row of the table in docs/billing.md, from the wire into the ledger, held against what engines say they did. */
let stand: PolicyStand;
beforeAll(async () => {
  stand = await PolicyStand.start();
});
afterAll(() => stand.stop());

/** First and second column of the table. */
function documented(): { readonly turn: string; readonly outcome: string }[] {
  const text = readFileSync(new URL('../../docs/billing.md', import.meta.url), 'utf8');
  const lines = /## What is billed\n[^]*?\n(\|[^]*?)\n\n/.exec(text)?.[1]?.split('\n') ?? [];
  return lines.slice(2).map((line) => {
    const [, turn = '', outcome = ''] = line.split('|').map((cell) => cell.trim());
    return { turn, outcome: outcome.replaceAll('`', '') };
  });
}

const ROWS = documented();

it('the rows are those of the documentation', () => {
  expect(Object.keys(CASES)).toEqual(ROWS.map(({ turn }) => turn));
});

describe.each(ROWS)('$turn', ({ turn, outcome }) => {
  const cases = CASES[turn] ?? [];
  const played = new Map<Case, readonly Played[] | Error>();
  let asked: ReadonlySet<string>;
  // All are played before the first is looked at: the ledger gets them together.
  beforeAll(async () => {
    asked = await stand.asked();
    for (const each of cases) {
      const result = await each.play(stand).catch((thrown: Error) => thrown);
      played.set(each, result instanceof Error ? result : [result].flat());
    }
  });

  it.each(cases.map((each) => [each.name, each] as const))('%s', async (_, each) => {
    const results = played.get(each) ?? [];
    if (results instanceof Error) throw results;
    expect(results.map(({ end }) => end)).toEqual(results.map(() => each.end));
    if (outcome === 'none') {
      // What is not billed is not told either.
      for (const { told } of results) expect(told?.total_tokens ?? 0).toBe(0);
      return;
    }
    for (const result of results) await expectBilled(result, each, outcome);
  });

  if (outcome === 'none') {
    it('no engine is asked', async () => {
      expect(await stand.asked()).toEqual(asked);
    });
  }
});

/** What a part of a turn took. */
interface Count {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

function sumOf(counts: readonly Count[]): Count {
  const sum = (name: keyof Count) => counts.reduce((total, count) => total + count[name], 0);
  return { input: sum('input'), cached: sum('cached'), output: sum('output') };
}

/** The row of a response is as documented, and has what its engine did and its client was told, to the token. */
async function expectBilled(
  played: Played,
  { row, purposes = ['answer'] }: Case,
  outcome: string,
): Promise<void> {
  const { id = '', told } = played;
  const { record, transactions } = await stand.books.story(id);
  expect(record).toMatchObject({
    ...(outcome !== 'as it ends' && { outcome }),
    rule: 'billed',
    priceVersion: 'test',
    partial: false,
    clamped: false,
    ...row,
  });
  const parts = record.parts.map(({ purpose, tokens: { input, cached, output } }) => ({
    purpose,
    input,
    cached,
    output,
  }));
  expect(parts.map(({ purpose }) => purpose)).toEqual(purposes);
  const total = sumOf(parts);
  if (told !== undefined) {
    expect(total).toEqual({
      input: told?.input_tokens,
      cached: told?.input_tokens_details.cached_tokens,
      output: told?.output_tokens,
    });
  }
  // For a warm-up none is asked, and what was read is our own count.
  if (purposes[0] !== 'warm_up') {
    const work = played.work ?? (await stand.work(id));
    expect(parts.map(({ purpose: _, ...count }) => count)).toEqual(
      work.map(({ prompt, cached, output }) => ({ input: prompt, cached, output })),
    );
  }
  const amount =
    record.rule === 'billed' ? parts.reduce((sum, part) => sum + priceOf(part, record.model), 0) : 0;
  expect(record.amount).toBe(amount);
  const entries = transactions.flatMap((transaction) => transaction.entries);
  const owed = entries.filter(({ account }) => account.startsWith('tenant:'));
  expect(owed.reduce((sum, entry) => sum + entry.amount, 0)).toBe(amount);
}

function priceOf({ purpose, input, cached, output }: Count & { purpose: string }, model: string): number {
  const { dear, others } = FACTORS;
  const factor = (model === 'dear' ? dear : others)[purpose] ?? 1;
  return factor * ((input - cached) * PRICE.input + cached * PRICE.cached + output * PRICE.output);
}

describe('behind all of them', () => {
  it('nothing has been booked that no engine was asked for, and everything that one was', async () => {
    const client = await stand.client('http');
    const last = (await client.create({ input: 'the last' })).at(-1)?.response?.id ?? '';
    await stand.books.story(last);
    const rows = await stand.books.read(({ db }) =>
      db.selectFrom('ledger_usage').select(['response_id', 'record']).execute(),
    );
    const booked = rows.filter(({ record }) => !record.includes('"purpose":"warm_up"'));
    expect(new Set(booked.map(({ response_id }) => response_id))).toEqual(await stand.asked());
    expect(await stand.books.read((ledger) => ledger.verify())).toEqual([]);
  });
});
