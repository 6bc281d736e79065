/** Longest event taken from an engine, in bytes: an echo of a million prompt ids, with room to spare. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const DATA = Buffer.from('data');
/** llama.cpp's servers have said with it what failed; no other server has such a field. Source: its tools/server. */
const ERROR = Buffer.from('error');

/**
 * Reads server-sent events from bytes, cut anywhere: lines end in LF, CR or CRLF, several `data` lines join with LF,
 * comments and other fields are passed over but for an `error`, which reads as data with that field. Source: WHATWG HTML,
 * "Interpreting an event stream". Of JSON, which is what engines say, an object behind the end of another is an event of its own:
 * some leave the empty line between them out.
 */
export class SseReader {
  /** Bytes of a line that has not ended yet. */
  #partial: Buffer[] = [];
  #partialBytes = 0;
  #data: string[] = [];
  #dataBytes = 0;
  #afterCr = false;
  #atStart = true;

  /**
   * The data of each event that these bytes complete.
   * @throws RangeError when an event grows beyond 64 MiB
   */
  push(chunk: Buffer): string[] {
    const events: string[] = [];
    let from = 0;
    for (;;) {
      if (this.#afterCr && from < chunk.length) {
        // The LF of a CRLF, possibly the first byte of the next chunk.
        if (chunk[from] === LF) from++;
        this.#afterCr = false;
      }
      const end = lineEnd(chunk, from);
      if (end === -1) break;
      this.#afterCr = chunk[end] === CR;
      this.#line(this.#complete(chunk.subarray(from, end)), events);
      from = end + 1;
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return events;
  }

  /** The event that the stream ended in, when no bytes follow: it may be cut short. */
  end(): string[] {
    const events: string[] = [];
    this.#line(this.#complete(Buffer.alloc(0)), events);
    if (this.#data.length > 0) this.#dispatch(events);
    return events;
  }

  #complete(rest: Buffer): Buffer {
    if (this.#partial.length === 0) return rest;
    const line = Buffer.concat([...this.#partial, rest]);
    this.#partial = [];
    this.#partialBytes = 0;
    return line;
  }

  #keep(rest: Buffer): void {
    this.#partialBytes += rest.length;
    this.#partial.push(rest);
    this.#bound();
  }

  #dispatch(events: string[]): void {
    events.push(this.#data.join('\n'));
    this.#data = [];
    this.#dataBytes = 0;
  }

  #bound(): void {
    if (this.#partialBytes + this.#dataBytes > MAX_EVENT_BYTES) {
      throw new RangeError('an event of the stream is too long');
    }
  }

  #line(bytes: Buffer, events: string[]): void {
    let line = bytes;
    if (this.#atStart) {
      this.#atStart = false;
      if (BYTE_ORDER_MARK.every((byte, index) => line[index] === byte)) line = line.subarray(3);
    }
    if (line.length === 0) {
      if (this.#data.length > 0) this.#dispatch(events);
      return;
    }
    const colon = line.indexOf(COLON);
    const field = colon === -1 ? line : line.subarray(0, colon);
    const isError = field.equals(ERROR);
    if (!isError && !field.equals(DATA)) return;
    const value = colon === -1 ? colon : line[colon + 1] === SPACE ? colon + 2 : colon + 1;
    const text = value === -1 ? '' : line.toString('utf8', value);
    if (/^\s*[{[]/.test(text) && /\}\s*$/.test(this.#data.at(-1) ?? '')) this.#dispatch(events);
    this.#data.push(isError ? `{"error":${text}}` : text);
    this.#dataBytes += line.length;
    this.#bound();
  }
}

/** Index of the first LF or CR at or after `from`; -1 when there is none. */
function lineEnd(chunk: Buffer, from: number): number {
  const lf = chunk.indexOf(LF, from);
  const cr = chunk.subarray(from, lf === -1 ? chunk.length : lf).indexOf(CR);
  return cr === -1 ? lf : from + cr;
}
