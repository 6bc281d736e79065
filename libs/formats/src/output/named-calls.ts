import { type CallContext, type CallReader } from './call-reader.js';
import { JsonCalls } from './json-calls.js';

export interface NamedCallOptions {
  /** Stands between the name and the arguments. */
  readonly separator: string;
  /** Stands before an id of the call, behind the name. */
  readonly id?: string | undefined;
  /** Ends the call; undefined when the next marker of the turn does. */
  readonly close?: string | undefined;
  /** The name of the tool in what stands before the separator. */
  readonly nameOf?: ((written: string) => string) | undefined;
}

/** Longer than the name of any tool. */
const MAX_NAME = 256;

/**
 * One call as a name and its arguments behind a separator, handed on as they were written. Where a list or an object stands
 * instead of the name, the calls in it are read.
 */
export class NamedCall implements CallReader {
  done = false;
  private stage: 'name' | 'id' | 'arguments' | 'lost' = 'name';
  private written = '';
  /** White space that counts only when something follows. */
  private blank = '';
  private list: JsonCalls | undefined;
  private hasArguments = false;

  constructor(
    private readonly context: CallContext,
    private readonly from: number,
    private readonly options: NamedCallOptions,
  ) {}

  get interruptible(): boolean {
    return this.list?.interruptible ?? this.options.close === undefined;
  }

  get markers(): readonly string[] {
    if (this.list !== undefined) return this.list.markers;
    const { separator, id, close } = this.options;
    const markers = this.stage === 'name' || this.stage === 'id' ? [separator] : [];
    if (id !== undefined && this.stage === 'name') markers.push(id);
    if (close !== undefined) markers.push(close);
    return markers;
  }

  text(text: string, idAt: (offset: number) => number): number {
    if (this.list !== undefined) return this.list.text(text, idAt);
    switch (this.stage) {
      case 'name':
        return this.readName(text, idAt);
      case 'arguments':
        this.writeArguments(text);
        return text.length;
      case 'lost':
        this.written += text;
        return text.length;
      case 'id':
        return text.length;
    }
  }

  marker(marker: string): void {
    if (this.list !== undefined) this.list.marker();
    else if (marker === this.options.id) this.stage = 'id';
    else if (marker === this.options.separator) this.beginArguments();
    else this.finish(true);
    this.done = this.list?.done ?? marker === this.options.close;
  }

  finish(complete: boolean): void {
    if (this.list !== undefined) {
      this.list.finish(complete);
      return;
    }
    // Where the output was cut, nobody knows whether the name is whole.
    const isNamed = this.stage === 'arguments' || (complete && /^\S+$/.test(this.name()));
    if (this.stage === 'lost' || !isNamed) {
      this.context.unreadable(this.written, this.from, complete);
    } else {
      if (this.stage !== 'arguments') this.beginArguments();
      if (!this.hasArguments && complete) this.context.writer.write('{}');
      this.context.writer.end(complete);
    }
    this.stage = 'lost';
    this.written = '';
  }

  private readName(text: string, idAt: (offset: number) => number): number {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      if (char !== '{' && char !== '[') continue;
      this.written += text.slice(0, at);
      if (this.written.trim() !== '') {
        this.beginArguments();
        this.text(text.slice(at), idAt);
        return text.length;
      }
      this.list = new JsonCalls(this.context, this.from, { close: this.options.close });
      return at + this.list.text(text.slice(at), (offset) => idAt(at + offset));
    }
    this.written += text;
    if (this.written.length > MAX_NAME) this.stage = 'lost';
    return text.length;
  }

  private name(): string {
    const written = this.written.trim();
    return this.options.nameOf === undefined ? written : this.options.nameOf(written);
  }

  private beginArguments(): void {
    if (this.name() === '') {
      this.stage = 'lost';
      return;
    }
    this.context.writer.open(this.context.names.resolve(this.name()), this.from);
    this.stage = 'arguments';
  }

  private writeArguments(text: string): void {
    const end = text.trimEnd().length;
    if (end === 0) {
      if (this.hasArguments) this.blank += text;
      return;
    }
    const body = this.hasArguments ? this.blank + text.slice(0, end) : text.slice(0, end).trimStart();
    this.hasArguments = true;
    this.context.writer.write(body);
    this.blank = text.slice(end);
  }
}
