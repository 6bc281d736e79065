import { lineOf as logLineOf } from '@turnpike/append-log';
import type { Admission, UsagePart, UsageRecord } from '../usage-record.js';

/** A turn is about to reach an engine. */
export interface AdmitEntry {
  readonly kind: 'admit';
  readonly admission: Admission;
  /** What it reads first; nothing is sampled yet. */
  readonly parts: readonly UsagePart[];
}

/** A turn has come so far. */
export interface ProgressEntry {
  readonly kind: 'progress';
  readonly id: string;
  readonly parts: readonly UsagePart[];
}

/** A turn has ended, and this is its bill. */
export interface SettleEntry {
  readonly kind: 'settle';
  readonly record: UsageRecord;
}

export type JournalEntry = AdmitEntry | ProgressEntry | SettleEntry;

/** One line of a journal. */
export function lineOf({ kind, ...body }: JournalEntry, sequence: number): Buffer {
  return logLineOf(kind, body, sequence);
}
