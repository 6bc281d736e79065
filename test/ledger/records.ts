import { chargeFor, PriceBook, type UsageRecord } from '@turnpike/metering';

/** A dollar for a million tokens of input, two for output: a thousand and two thousand nano-dollars a token. */
export const PRICES = PriceBook.parse(`
versions:
  - version: test
    from: "2026-01-01"
    models: { m: { input: 1, output: 2, cachedInput: 0.1 }, other: { input: 1, output: 1 } }
`);

const NOON = Date.parse('2026-03-31T12:00:00Z');

/** The record of a turn of tenant `t` and key `k` that read and produced so much. */
export function usageRecord(
  id: string,
  given: Partial<UsageRecord> & { input?: number; output?: number } = {},
): UsageRecord {
  const { input = 10, output = 5, ...rest } = given;
  const tokens = { input, cached: 0, cacheWrite: 0, output, reasoning: 0, image: 0 };
  const record: UsageRecord = {
    id,
    tenant: 't',
    key: 'k',
    model: 'm',
    engine: 'e',
    route: 'm',
    lane: null,
    transport: 'websocket',
    serviceTier: 'default',
    stored: false,
    admittedAt: NOON,
    rule: 'billed',
    priceVersion: null,
    amount: 0,
    parts: [{ purpose: 'answer', prompt: input, tokens }],
    outcome: 'completed',
    reason: null,
    partial: false,
    clamped: false,
    settledAt: NOON + 1_000,
    stages: { rendering: 120 },
    journal: 'j',
    admitSequence: 1,
    settleSequence: 2,
    progressRecords: 0,
    ...rest,
  };
  const rates = PRICES.ratesAt(record.model, record.admittedAt);
  return { ...record, ...chargeFor(record, rates), ...rest };
}
