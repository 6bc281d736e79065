import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A segment is named after the number of its first record, so that names sort as records do. */
const NAME = /^(\d{16})\.journal$/;

export function segmentName(firstSequence: number): string {
  return `${String(firstSequence).padStart(16, '0')}.journal`;
}

/** Number of the first record of a segment. */
export function firstSequenceOf(segment: string): number {
  return Number.parseInt(segment, 10);
}

/** Names of the segments of a log, the oldest first. */
export function segmentsIn(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .sort();
}

/** The folder of a log, made when it is missing. Only its owner may read it. */
export function makeFolder(...path: string[]): string {
  const folder = join(...path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}
