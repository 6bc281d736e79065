import { type CallContext, type CallReader } from './call-reader.js';
import { JsonExtent } from './json-extent.js';
import { JsonStringDecoder } from './json-string.js';
import { textBehind } from './text-behind.js';

export interface JsonCallsOptions {
  /** What ends them; undefined when only the end of the turn does. */
  readonly close?: string | undefined;
  /**
   * Whether they stand where text could: only an object that says the name of a declared tool is a call then, and
   * whatever else is given back as text.
   */
  readonly bare?: { giveBack(text: string, from: number): void } | undefined;
}

const NAME_KEYS: ReadonlySet<string> = new Set(['name', 'tool_name']);
const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters']);
/** Other keys that objects of calls have been seen with; anything else says that a bare object is no call. */
const OTHER_KEYS: ReadonlySet<string> = new Set(['type', 'id', 'function', 'tool_call_id']);
const KNOWN_KEYS: ReadonlySet<string> = new Set([...NAME_KEYS, ...ARGUMENT_KEYS, ...OTHER_KEYS]);

type State =
  'between' | 'key' | 'inKey' | 'colon' | 'value' | 'name' | 'arguments' | 'text' | 'skip' | 'lost';

/**
 * Calls as JSON objects, `{"name": ..., "arguments": {...}}`, one or several, also in a list. Arguments are handed on
 * as they were written, as soon as the name is known; a string that holds them as JSON is unwrapped.
 */
export class JsonCalls implements CallReader {
  done = false;
  private state: State = 'between';
  /** Number of the id at which the object begins. */
  private from: number;
  /** How many objects deep the keys of the call stand: in `function`, one deeper. */
  private level = 0;
  private key = '';
  private name: string | undefined;
  /** Arguments read before the name was known. */
  private early = '';
  private opened = false;
  private hasArguments = false;
  /** Members that belong to no call, as an object: arguments of a model that writes them beside the name. */
  private members = '';
  /** The value that is being read. */
  private extent = new JsonExtent();
  private readonly decoder = new JsonStringDecoder();
  /** The object as it was written, until its call has begun. */
  private raw = '';
  private calls = 0;

  constructor(
    private readonly context: CallContext,
    from: number,
    private readonly options: JsonCallsOptions,
  ) {
    this.from = from;
  }

  /** Inside an object its own structure says where it ends: its strings may hold anything. */
  get interruptible(): boolean {
    return this.level === 0 || this.state === 'key';
  }

  get quoted(): boolean {
    const { state } = this;
    return state === 'inKey' || state === 'name' || state === 'text' || this.extent.quoted;
  }

  get markers(): readonly string[] {
    const { close } = this.options;
    return close !== undefined && this.interruptible ? [close] : [];
  }

  text(text: string, idAt: (offset: number) => number): number {
    for (let at = 0; at < text.length;) {
      const before = at;
      const { interruptible, opened } = this;
      at = this.step(text, at, idAt);
      if (!opened && !this.opened && !this.done) this.raw += text.slice(before, at);
      // Behind a member, or an object, there may be a marker again.
      if (this.done || (!interruptible && this.interruptible)) return at;
    }
    return text.length;
  }

  marker(): void {
    this.finish(true);
    this.done = true;
  }

  finish(complete: boolean): void {
    if (this.opened) {
      this.endCall(complete);
    } else {
      if (this.calls > 0 && this.level === 0) this.raw = textBehind(this.raw);
      if (this.raw.trim() !== '') this.giveUp(complete);
    }
    this.level = 0;
    this.raw = '';
    this.state = 'lost';
  }

  /** Reads on from `at`; where it got to. */
  private step(text: string, at: number, idAt: (offset: number) => number): number {
    switch (this.state) {
      case 'between':
        return this.between(text, at, idAt);
      case 'key':
        return this.expectKey(text.charAt(at), at);
      case 'inKey':
      case 'name':
        return this.string(text, at);
      case 'colon':
        if (text.charAt(at) === ':') this.state = 'value';
        return at + 1;
      case 'value':
        return this.beginValue(text.charAt(at), at);
      case 'arguments':
      case 'skip':
        return this.value(text, at);
      case 'text':
        return this.decoded(text, at);
      case 'lost':
        return text.length;
    }
  }

  private between(text: string, at: number, idAt: (offset: number) => number): number {
    const char = text.charAt(at);
    if (char === '{') {
      if (this.calls > 0 || this.options.bare !== undefined) this.from = idAt(at);
      this.begin();
    } else if (!' \t\r\n,;[]'.includes(char) && !this.isFence(char)) {
      const isBehind = this.calls > 0;
      if (this.options.bare !== undefined || (isBehind && this.options.close === undefined)) {
        this.done = true;
        return at;
      }
      if (isBehind) this.from = idAt(at);
      this.state = 'lost';
      return at;
    }
    return at + 1;
  }

  /** Whether a character before the first object goes on with what Markdown puts before code. */
  private isFence(char: string): boolean {
    const isFirst = this.calls === 0 && this.options.bare === undefined;
    return isFirst && '```json'.startsWith(this.raw.trim() + char);
  }

  private begin(): void {
    this.state = 'key';
    this.level = 1;
    this.name = undefined;
    this.early = '';
    this.members = '';
    this.raw = '';
    this.opened = false;
    this.hasArguments = false;
  }

  private expectKey(char: string, at: number): number {
    if (char === '"') {
      this.key = '';
      this.state = 'inKey';
    } else if (char === '}') {
      if (--this.level === 0) this.endObject();
    }
    return at + 1;
  }

  /** Reads a key or the name on. */
  private string(text: string, at: number): number {
    const end = this.decoder.read(text, at);
    if (this.state === 'inKey') this.key += this.decoder.take();
    else this.name = (this.name ?? '') + this.decoder.take();
    if (!this.decoder.ended) return end;
    if (this.state === 'inKey') {
      this.state = 'colon';
      if (!KNOWN_KEYS.has(this.key) && this.options.bare !== undefined && !this.opened)
        this.notACall(text.slice(at, end));
    } else {
      this.state = 'key';
      if (this.options.bare !== undefined && !this.context.names.knows(this.name ?? '')) {
        this.notACall(text.slice(at, end));
      } else if (this.name !== '') {
        this.openCall();
      }
    }
    return end;
  }

  private beginValue(char: string, at: number): number {
    if (' \t\r\n'.includes(char)) return at + 1;
    if (NAME_KEYS.has(this.key) && char === '"' && this.name === undefined) {
      this.name = '';
      this.state = 'name';
      return at + 1;
    }
    if (NAME_KEYS.has(this.key) && this.options.bare !== undefined && !this.opened) {
      this.notACall('');
      return at;
    }
    if (this.key === 'function' && char === '{') {
      this.level++;
      this.state = 'key';
      return at + 1;
    }
    const isArguments = ARGUMENT_KEYS.has(this.key) && !this.hasArguments;
    if (isArguments && char === '"') {
      this.hasArguments = true;
      this.state = 'text';
      return at + 1;
    }
    this.state = isArguments ? 'arguments' : 'skip';
    if (isArguments) this.hasArguments = char !== 'n'; // null stands for none
    if (isArguments && char === 'n') this.state = 'skip';
    if (!KNOWN_KEYS.has(this.key)) {
      this.members += `${this.members === '' ? '{' : ','}${JSON.stringify(this.key)}:`;
    }
    this.extent = new JsonExtent();
    return at;
  }

  /** Reads a value on, to its end or that of the text. */
  private value(text: string, from: number): number {
    const at = this.extent.read(text, from);
    const read = text.slice(from, at);
    if (this.state === 'arguments') this.writeArguments(read);
    else if (!KNOWN_KEYS.has(this.key)) this.members += read;
    if (this.extent.ended) this.state = 'key';
    return at;
  }

  private decoded(text: string, from: number): number {
    const end = this.decoder.read(text, from);
    this.writeArguments(this.decoder.take());
    if (this.decoder.ended) this.state = 'key';
    return end;
  }

  private writeArguments(text: string): void {
    if (this.opened) this.context.writer.write(text);
    else this.early += text;
  }

  private openCall(): void {
    this.opened = true;
    this.calls++;
    this.raw = '';
    this.context.writer.open(this.context.names.resolve(this.name ?? ''), this.from);
    this.context.writer.write(this.early);
  }

  private endObject(): void {
    this.state = 'between';
    if (this.opened) this.endCall(true);
    else if (this.options.bare !== undefined) this.notACall('}');
    else this.state = 'lost';
  }

  private endCall(complete: boolean): void {
    if (!this.hasArguments && complete && this.members !== '') this.context.writer.write(`${this.members}}`);
    this.context.writer.end(complete);
    this.opened = false;
    this.raw = '';
  }

  /** What was taken for a call is text. */
  private notACall(last: string): void {
    this.options.bare?.giveBack(this.raw + last, this.from);
    this.raw = '';
    this.level = 0;
    this.done = true;
  }

  private giveUp(complete: boolean): void {
    if (this.options.bare === undefined) this.context.unreadable(this.raw, this.from, complete);
    else this.options.bare.giveBack(this.raw, this.from);
  }
}
