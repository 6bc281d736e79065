import type { Admission, UsagePart, UsageRecord } from '../usage-record.js';

const NONE = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, image: 0 };

/** One answer that read and wrote so many tokens. */
export const answer = (input: number, output: number): UsagePart[] => [
  { purpose: 'answer', prompt: input, tokens: { ...NONE, input, output } },
];

/** A turn of tenant `t` and key `k`. */
export const admission = (id: string): Admission => ({
  id,
  tenant: 't',
  key: 'k',
  model: 'sim',
  engine: 'e',
  route: 'sim',
  lane: null,
  transport: 'http',
  serviceTier: 'default',
  stored: true,
  admittedAt: 1_000,
});

/** How it ends: completed, three tokens read and four written. */
export const settlement = (id: string): Omit<UsageRecord, 'journal' | 'settleSequence'> => ({
  ...admission(id),
  rule: 'billed',
  priceVersion: 'built-in',
  amount: 0,
  parts: answer(3, 4),
  outcome: 'completed',
  reason: null,
  partial: false,
  clamped: false,
  settledAt: 2_000,
  stages: {},
  admitSequence: 1,
  progressRecords: 0,
});
