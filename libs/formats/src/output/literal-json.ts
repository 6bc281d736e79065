import { JsonStringDecoder } from './json-string.js';

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WORDS: ReadonlyMap<string, string> = new Map([
  ['True', 'true'],
  ['true', 'true'],
  ['False', 'false'],
  ['false', 'false'],
  ['None', 'null'],
  ['null', 'null'],
]);
const OPENING: Readonly<Record<string, string | undefined>> = { '{': '{', '[': '[', '(': '[' };

/** The JSON of a dictionary or a list as Python writes them; undefined for what does not end where the text does. */
export function jsonOfLiteral(text: string): string | undefined {
  let json = '';
  const literal = new LiteralJson((part) => {
    json += part;
  });
  const isList = text.startsWith('[');
  const rest = isList ? `list=${text}}` : text.slice(1);
  const isWhole = literal.text(rest, 0) === rest.length && literal.ended;
  if (!isWhole) return undefined;
  return isList ? json.slice('{"list":'.length, -1) : json;
}

/**
 * Writes literals of Python, or with bare keys, as JSON while they come: the values of an object that is already open, up to
 * the bracket that closes it.
 */
export class LiteralJson {
  ended = false;
  /** Whether a string goes on. */
  quoted = false;
  /** Whether its end is a marker, and not a character. */
  private marked = false;
  private readonly decoder = new JsonStringDecoder();
  /** Brackets that are open, as JSON has them. */
  private readonly open: string[] = ['{'];
  private word = '';
  /** What has to stand before the next value: a comma that may turn out to be the last. */
  private comma = '';
  /** Whether the last thing written is a key that has no value yet. */
  private keyed = false;
  /** Whether a value stands where the next key or value has to. */
  private full = false;
  /** A string is held while it may be a key. */
  private held: string | undefined;

  constructor(private readonly write: (json: string) => void) {
    write('{');
  }

  /** Reads on from `at`; where the text or the object ends. */
  text(text: string, at: number): number {
    let i = at;
    while (i < text.length && !this.ended) {
      if (!this.quoted) this.character(text.charAt(i++));
      else if (this.marked) {
        this.stringText(text.slice(i));
        i = text.length;
      } else {
        i = this.decoder.read(text, i);
        this.stringText(this.decoder.take());
        if (this.decoder.ended) this.endString();
      }
    }
    return i;
  }

  /** A marker that stands for a quote. */
  quote(): void {
    if (this.quoted && this.marked) this.endString();
    else if (!this.quoted) this.beginString(true);
  }

  /** Closes what is open. */
  finish(): void {
    if (this.ended) return;
    if (this.quoted) this.endString();
    while (!this.ended) this.close();
  }

  private character(char: string): void {
    if (char === '"' || char === "'") {
      this.decoder.quote = char;
      this.beginString(false);
    } else if (OPENING[char] !== undefined) {
      this.endWord();
      this.beginValue();
      this.write(OPENING[char]);
      this.open.push(OPENING[char]);
      this.full = false;
    } else if (char === '}' || char === ']' || char === ')') {
      this.close();
    } else if (char === ',') {
      this.endEntry();
      if (this.full) this.comma = ',';
      this.full = false;
    } else if (char === ':' || (char === '=' && this.inObject && !this.keyed)) {
      this.key();
    } else if (/\s/.test(char)) {
      this.endWord();
    } else {
      this.word += char;
    }
  }

  private get inObject(): boolean {
    return this.open.at(-1) === '{';
  }

  /** What was read last is a key. */
  private key(): void {
    const key = this.held ?? this.word;
    if (!this.inObject || this.keyed || this.full) return;
    this.held = undefined;
    this.word = '';
    this.write(`${this.takeComma()}${JSON.stringify(key)}:`);
    this.keyed = true;
  }

  private beginString(marked: boolean): void {
    this.endWord();
    this.quoted = true;
    this.marked = marked;
    if (this.inObject && !this.keyed) {
      this.held = '';
    } else {
      this.beginValue();
      this.write('"');
    }
  }

  private stringText(text: string): void {
    if (this.held !== undefined) this.held += text;
    else if (text !== '') this.write(JSON.stringify(text.toWellFormed()).slice(1, -1));
  }

  private endString(): void {
    this.quoted = false;
    if (this.held === undefined) this.write('"');
  }

  /** A word that is a value; one that may yet be a key stays. */
  private endWord(): void {
    if (this.word === '' || (this.inObject && !this.keyed)) return;
    const { word } = this;
    this.word = '';
    this.beginValue();
    this.write(WORDS.get(word) ?? (NUMBER.test(word) ? word : JSON.stringify(word)));
  }

  /** What stands before a value; two without a comma are two all the same. */
  private beginValue(): void {
    if (this.inObject && !this.keyed) {
      // A value without a key: its place is its name.
      this.write(`${this.takeComma()}${JSON.stringify(this.held ?? this.word)}:`);
      this.held = undefined;
      this.word = '';
    } else if (!this.inObject) {
      this.write(this.full ? ',' : this.takeComma());
    }
    this.keyed = false;
    this.full = true;
  }

  private endEntry(): void {
    this.endWord();
    const lone = this.held ?? this.word;
    this.held = undefined;
    this.word = '';
    if (this.inObject && lone !== '' && !this.keyed)
      this.write(`${this.takeComma()}${JSON.stringify(lone)}:null`);
    else if (this.keyed) this.write('null');
    else if (lone === '') return;
    this.keyed = false;
    this.full = true;
  }

  private close(): void {
    this.endEntry();
    this.comma = '';
    this.write(this.open.pop() === '{' ? '}' : ']');
    this.ended = this.open.length === 0;
    this.keyed = false;
    this.full = true;
  }

  private takeComma(): string {
    const comma = this.full ? ',' : this.comma;
    this.comma = '';
    this.full = false;
    return comma;
  }
}
