/** Shorter runs are words. */
export const MIN_RUN = 16;
/** Longer lines are data: no model reads them as text. */
export const MAX_RUN = 2_048;

/** Of ASCII: 1 for what base64 is written in, both alphabets. */
const BASE64 = new Uint8Array(128);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') {
  BASE64[character.charCodeAt(0)] = 1;
}

/** Whether a unit is a letter or digit of ASCII or one of `+/_-`. */
export function isRunUnit(unit: number): boolean {
  return unit < 128 && BASE64[unit] === 1;
}

/** Where the run begins that the text ends with; its length when it ends with none. */
export function openRun(text: string): number {
  let at = text.length;
  while (at > 0 && isRunUnit(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/** Where the run ends that begins here. */
export function endOfRun(text: string, start: number): number {
  let at = start;
  while (at < text.length && isRunUnit(text.charCodeAt(at))) at += 1;
  return at;
}

/** The place of the next unit of a run; the length of the text when there is none. */
export function nextRun(text: string, from: number): number {
  let at = from;
  while (at < text.length && !isRunUnit(text.charCodeAt(at))) at += 1;
  return at;
}

/**
 * A run that a text ends with, as far as it was read. Base64 is often written in lines: a run goes on behind line breaks and
 * the blanks that a line begins with. Immutable.
 */
export interface OpenRun<Place> {
  /** Characters of its last line; 0 behind a line break. */
  readonly line: number;
  /** What it is, while that is too short to say anything. */
  readonly head: string;
  /** What it says then, from each of the four places where its groups can begin. */
  readonly decoders: readonly Decoder<Place>[] | undefined;
}

/** A line that is too long to say anything, whatever comes behind it. */
export const DATA: OpenRun<never> = { line: MAX_RUN + 1, head: '', decoders: undefined };

/** Whether a run goes on behind a part of the text between runs. */
export function joins<Place>(
  run: OpenRun<Place>,
  text: string,
  start: number,
  end: number,
): OpenRun<Place> | undefined {
  for (let at = start; at < end; at += 1) {
    const unit = text.charCodeAt(at);
    const isBreak = unit === 10 || unit === 13;
    const isIndent = (unit === 32 || unit === 9) && (at > start || run.line === 0);
    if (!isBreak && !isIndent) return undefined;
  }
  if (start === end) return run;
  return run.line > MAX_RUN ? undefined : { ...run, line: 0 };
}

const NO_RUN: OpenRun<never> = { line: 0, head: '', decoders: undefined };

/** Where a run ends that may have begun before a text. */
export function endOfOpen(text: string): number {
  for (let at = 0; ;) {
    const start = nextRun(text, at);
    if (joins(NO_RUN, text, at, start) === undefined) return at;
    const end = endOfRun(text, start);
    if (end === text.length || end === start) return text.length;
    at = end;
  }
}

/** Where the run begins that a text ends with, over all of its lines; its length when it ends with none. */
export function startOfOpen(text: string): number {
  let start = text.length;
  for (let at = text.length; ;) {
    let gap = at;
    while (gap > 0 && /[\r\n\t ]/.test(text.charAt(gap - 1))) gap -= 1;
    const begin = openRun(text.slice(0, gap));
    const isJoined = gap === at ? at === text.length : /^[\r\n]/.test(text.charAt(gap));
    if (begin === gap || !isJoined) return start;
    start = begin;
    at = begin;
  }
}

/** Base64 as it is read piece by piece, its bytes as UTF-8. Immutable. */
export interface Decoder<Place> {
  /** Characters of a group that is not whole, 3 at most. */
  readonly left: string;
  /** Bytes of a character that is not whole, 3 at most. */
  readonly bytes: Buffer;
  /** Where the scan of what it says stands. */
  readonly place: Place;
}

const NO_BYTES = Buffer.alloc(0);

/** One that has read nothing. */
export function decoderAt<Place>(place: Place): Decoder<Place> {
  return { left: '', bytes: NO_BYTES, place };
}

/** What more characters say behind those that were read before, as far as it is whole. */
export function decoded<Place>(
  { left, bytes }: Decoder<Place>,
  more: string,
): { text: string; left: string; bytes: Buffer } {
  const all = left + more;
  const known = Math.max(0, left.length - 1);
  const fresh = Buffer.from(all, 'base64').subarray(known);
  const read = bytes.length === 0 ? fresh : Buffer.concat([bytes, fresh]);
  const whole = wholeCharacters(read);
  return {
    text: read.toString('utf8', 0, whole),
    left: all.slice(all.length - (all.length % 4)),
    bytes: whole === read.length ? NO_BYTES : Buffer.from(read.subarray(whole)),
  };
}

/** Bytes up to a character that may not be whole yet. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (length > 0) return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
