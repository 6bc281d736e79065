import { z } from 'zod';
import type { UsageRecord } from './usage-record.js';

const count = z.int().min(0);
const name = z.string().min(1).max(512);

const record = z.strictObject({
  // What mintId makes, and nothing that would be two things in a job id.
  id: z.string().regex(/^[A-Za-z0-9_-]{1,128}$/),
  tenant: name,
  key: name,
  model: name,
  engine: name,
  route: name,
  lane: z.string().max(256).nullable(),
  transport: z.enum(['websocket', 'http', 'background']),
  serviceTier: z.string().max(64),
  stored: z.boolean(),
  admittedAt: count,
  rule: z.enum(['billed', 'free_failed_before_output', 'unpriced']),
  priceVersion: z.string().nullable(),
  amount: count,
  parts: z
    .array(
      z.strictObject({
        purpose: z.enum(['answer', 'warm_up', 'compaction']),
        prompt: count,
        tokens: z.strictObject({
          input: count,
          cached: count,
          cacheWrite: count,
          output: count,
          reasoning: count,
          image: count,
        }),
      }),
    )
    .max(16),
  outcome: z.enum(['completed', 'incomplete', 'failed', 'cancelled', 'disconnected', 'lost']),
  reason: z.string().max(256).nullable(),
  partial: z.boolean(),
  clamped: z.boolean(),
  settledAt: count,
  stages: z.record(z.string(), z.number()),
  journal: name,
  admitSequence: count,
  settleSequence: count,
  progressRecords: count,
});

/**
 * A usage record that came from outside of the process: out of a journal, or out of the queue.
 * @throws Error naming the field at fault
 */
export function parseUsageRecord(value: unknown): UsageRecord {
  const result = record.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Error(`not a usage record: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}
