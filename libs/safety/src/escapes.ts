/** An escape in a string of JSON. */
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/g;
const ESCAPED: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const BACKSLASH = 92;
const SMALL_U = 117;

/** A text with what its escapes stand for, in its strings or not. */
export function unescaped(text: string): string {
  return text.replaceAll(ESCAPE, (_all, code: string | undefined, mark: string) =>
    code === undefined ? (ESCAPED[mark] ?? mark) : String.fromCharCode(parseInt(code, 16)),
  );
}

/** The same unit by unit. */
export class Unescaping {
  readonly #take: (unit: number, place: number) => void;
  #open = '';
  #place = 0;

  /** @param take is given each unit, with the place where what it is written with begins */
  constructor(take: (unit: number, place: number) => void) {
    this.#take = take;
  }

  /** Where the escape begins that has not ended; `end` when there is none. */
  holdFrom(end: number): number {
    return this.#open === '' ? end : this.#place;
  }

  feed(unit: number, place: number): void {
    if (this.#open === '') {
      if (unit !== BACKSLASH) return this.#take(unit, place);
      this.#place = place;
      this.#open = '\\';
      return;
    }
    this.#open += String.fromCharCode(unit);
    const isCode = this.#open.charCodeAt(1) === SMALL_U;
    const isBroken = isCode && this.#open.length > 2 && !/^[0-9a-fA-F]+$/.test(this.#open.slice(2));
    if (isCode && this.#open.length < 6 && !isBroken) return;
    const written = unescaped(this.#open);
    this.#open = '';
    for (let at = 0; at < written.length; at += 1) this.#take(written.charCodeAt(at), this.#place);
  }
}
