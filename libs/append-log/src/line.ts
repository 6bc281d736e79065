import { crc32 } from 'node:zlib';

/** A line of a segment as it was read. The body stays text until somebody wants it. */
export interface LogLine {
  readonly sequence: number;
  readonly kind: string;
  /** JSON of an object. */
  readonly body: string;
}

const LINE = /^([0-9a-f]{8}) (([a-z]+) (\d{1,16}) (\{.*\}))$/s;

/**
 * One line: the CRC-32 of what follows it, kind, sequence number, JSON.
 * @param kind in small letters
 */
export function lineOf(kind: string, body: object, sequence: number): Buffer {
  const text = `${kind} ${sequence} ${JSON.stringify(body)}`;
  return Buffer.from(`${crc32(text).toString(16).padStart(8, '0')} ${text}\n`);
}

/** What a line says; undefined when it is not what was written. */
export function readLine(text: string): LogLine | undefined {
  const match = LINE.exec(text);
  if (match === null) return undefined;
  const [, sum = '', content = '', kind = '', sequence, body = ''] = match;
  if (crc32(content) !== Number.parseInt(sum, 16)) return undefined;
  return { kind, sequence: Number(sequence), body };
}
