import { firstSequenceOf, readLine, segmentsIn } from '@turnpike/append-log';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chargeFor } from '../charge.js';
import type { PriceBook } from '../price-book.js';
import type { Admission, UsagePart, UsageRecord } from '../usage-record.js';

/** A turn whose gateway died before it was settled. */
interface LostTurn {
  readonly admission: Admission;
  readonly admitSequence: number;
  parts: readonly UsagePart[];
  progressRecords: number;
}

/** What a journal holds that nobody writes to any more. */
export interface LeftBehind {
  readonly turns: readonly LostTurn[];
  /** Of the last record that can be read, or that a segment was begun with; 0 in an empty journal. */
  readonly lastSequence: number;
}

/** Turns of a journal that were admitted and never settled, with the last that was written down of each. */
export async function leftBehind(folder: string): Promise<LeftBehind> {
  const open = new Map<string, LostTurn>();
  let lastSequence = 0;
  for (const segment of segmentsIn(folder)) {
    const text = await readFile(join(folder, segment), 'utf8');
    // What is in a segment stays in it, also where none of it can be read: its name is taken.
    if (text !== '') lastSequence = Math.max(lastSequence, firstSequenceOf(segment));
    // What has no line end was cut off, however much of it is there.
    for (const each of text.split('\n').slice(0, -1)) {
      const line = readLine(each);
      if (line === undefined) continue;
      lastSequence = Math.max(lastSequence, line.sequence);
      const body = JSON.parse(line.body) as {
        admission: Admission;
        id: string;
        parts: readonly UsagePart[];
        record: UsageRecord;
      };
      if (line.kind === 'settle') open.delete(body.record.id);
      if (line.kind === 'admit') {
        const { admission, parts } = body;
        open.set(admission.id, { admission, parts, admitSequence: line.sequence, progressRecords: 0 });
      }
      const turn = line.kind === 'progress' ? open.get(body.id) : undefined;
      if (turn !== undefined) {
        turn.parts = body.parts;
        turn.progressRecords++;
      }
    }
  }
  return { turns: [...open.values()], lastSequence };
}

/**
 * The bill of a turn that nobody settled: what was written down of it last. The engine may have produced more, at most
 * what is produced between two progress records.
 */
export function settlementOf(
  { admission, parts, admitSequence, progressRecords }: LostTurn,
  prices: PriceBook,
  now: number,
): Omit<UsageRecord, 'journal' | 'settleSequence'> {
  const outcome = 'lost' as const;
  const rates = prices.ratesAt(admission.model, admission.admittedAt);
  return {
    ...admission,
    ...chargeFor({ parts, outcome, serviceTier: admission.serviceTier }, rates),
    parts,
    outcome,
    reason: 'gateway_lost',
    partial: true,
    clamped: false,
    settledAt: now,
    stages: {},
    admitSequence,
    progressRecords,
  };
}
