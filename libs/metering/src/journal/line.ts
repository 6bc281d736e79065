import { crc32 } from 'node:zlib';
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

/** A line of a segment as it was read. Of a kind that is not wanted the body stays text. */
export interface JournalLine {
  readonly sequence: number;
  readonly kind: JournalEntry['kind'];
  /** JSON of the entry without its kind. */
  readonly body: string;
}

const LINE = /^([0-9a-f]{8}) ((admit|progress|settle) (\d{1,16}) (\{.*\}))$/s;

/** One line: the CRC-32 of what follows it, kind, sequence number, JSON. */
export function lineOf({ kind, ...body }: JournalEntry, sequence: number): Buffer {
  const text = `${kind} ${sequence} ${JSON.stringify(body)}`;
  return Buffer.from(`${crc32(text).toString(16).padStart(8, '0')} ${text}\n`);
}

/** What a line says; undefined when it is not what was written. */
export function readLine(text: string): JournalLine | undefined {
  const match = LINE.exec(text);
  if (match === null) return undefined;
  const [, sum = '', content = '', kind, sequence, body = ''] = match;
  if (crc32(content) !== Number.parseInt(sum, 16)) return undefined;
  return { kind: kind as JournalEntry['kind'], sequence: Number(sequence), body };
}
