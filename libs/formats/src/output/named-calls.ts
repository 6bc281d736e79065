import { type CallHeader } from '../format.js';
import { type CallContext, type CallReader } from './call-reader.js';
import { JsonCalls } from './json-calls.js';
import { JsonExtent } from './json-extent.js';
import { firstVisible } from './blank.js';
import { textBehind } from './text-behind.js';

export interface NamedCallOptions {
  /** Stands between the name and the arguments. */
  readonly separator: string;
  /** Stands before an id of the call, behind the name. */
  readonly id?: string | undefined;
  /** Ends the call; undefined when the next marker of the turn does. */
  readonly close?: string | undefined;
  /** The name of the tool in what stands before the separator. */
  readonly nameOf?: ((written: string) => string) | undefined;
  /** What older models of the family write in the place of the name, which is then the first word behind the separator. */
  readonly label?: string | undefined;
}

/** Longer than the name of any tool. */
const MAX_NAME = 256;
/** The name, where it stands behind the separator, and what Markdown puts before code. */
const LEAD = /^\s*([^\s`]*)\s*(?:```\w*)?\s*$/;

type Stage = 'name' | 'id' | 'lead' | 'text' | 'object' | 'behind' | 'lost';

/**
 * One call as a name and its arguments behind a separator, handed on as they were written; those of a function end where
 * their object does. Where a list or an object stands instead of the name, the calls in it are read.
 */
export class NamedCall implements CallReader {
  done = false;
  private stage: Stage = 'name';
  /** The name, what stands before the arguments, or what stands behind them. */
  private written = '';
  /** White space that counts only when something follows. */
  private blank = '';
  private hasText = false;
  private list: JsonCalls | undefined;
  private call: CallHeader | undefined;
  private readonly extent = new JsonExtent();

  constructor(
    private readonly context: CallContext,
    /** Number of the id at which the call, or what stands behind it, begins. */
    private from: number,
    private readonly options: NamedCallOptions,
  ) {}

  get interruptible(): boolean {
    return this.list?.interruptible ?? (this.options.close === undefined && !this.extent.quoted);
  }

  get quoted(): boolean {
    return this.list?.quoted ?? this.extent.quoted;
  }

  get markers(): readonly string[] {
    if (this.list !== undefined) return this.list.markers;
    const { separator, id, close } = this.options;
    const markers = this.stage === 'name' || this.stage === 'id' ? [separator] : [];
    if (id !== undefined && this.stage === 'name') markers.push(id);
    if (close !== undefined && !this.extent.quoted) markers.push(close);
    return markers;
  }

  text(text: string, idAt: (offset: number) => number): number {
    if (this.list !== undefined) return this.readList(this.list, text, idAt);
    switch (this.stage) {
      case 'name':
        return this.readName(text, idAt);
      case 'lead':
        return this.readLead(text, idAt);
      case 'text':
        this.writeText(text);
        return text.length;
      case 'object':
        return this.readObject(text, idAt);
      case 'behind':
        return this.readBehind(text, idAt);
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
    if ((this.stage === 'name' || this.stage === 'id') && complete && /^\S+$/.test(this.name())) {
      this.beginArguments();
    }
    if (this.stage === 'lead' && !this.endLead(this.written)) this.writeText(this.written);
    if (this.call !== undefined && this.stage !== 'behind') this.context.writer.end(complete);
    else {
      const text = this.call === undefined ? this.written : textBehind(this.written);
      this.context.unreadable(text, this.from, complete);
    }
    this.stage = 'lost';
    this.written = '';
  }

  private readList(list: JsonCalls, text: string, idAt: (offset: number) => number): number {
    const taken = list.text(text, idAt);
    this.done = list.done;
    return taken;
  }

  private readName(text: string, idAt: (offset: number) => number): number {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      if (char !== '{' && char !== '[') continue;
      this.written += text.slice(0, at);
      if (this.written.trim() === '') {
        this.list = new JsonCalls(this.context, this.from, { close: this.options.close });
      } else {
        this.beginArguments();
      }
      return at + this.text(text.slice(at), (offset) => idAt(at + offset));
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
    const name = this.name();
    if (name === '') {
      this.stage = 'lost';
      return;
    }
    if (name !== this.options.label || this.context.names.knows(name)) this.openCall(name);
    this.stage = this.call?.type === 'custom_tool_call' ? 'text' : 'lead';
    this.written = '';
  }

  private openCall(name: string): void {
    this.call = this.context.names.resolve(name);
    this.context.writer.open(this.call, this.from);
  }

  /** What stands before the arguments is waited for as long as it may be a name, or what Markdown puts there. */
  private readLead(text: string, idAt: (offset: number) => number): number {
    const before = this.written.length;
    this.written += text;
    const first = this.written.charAt(firstVisible(this.written));
    const brace = this.written.indexOf('{');
    const waits = first === '' || (brace === -1 && (first === '`' || this.call === undefined));
    if (waits && this.written.length <= MAX_NAME) return text.length;
    const isLead = this.endLead(brace === -1 ? this.written : this.written.slice(0, brace)) && brace !== -1;
    const at = isLead ? brace : 0;
    this.stage = isLead ? 'object' : 'text';
    const rest = this.written.slice(at);
    this.written = '';
    const from = at - before;
    return from + this.text(rest, (offset) => idAt(Math.max(0, from + offset)));
  }

  /** @returns whether that is none of the arguments */
  private endLead(lead: string): boolean {
    const [, name] = LEAD.exec(lead) ?? [];
    const isLabelled = this.call === undefined;
    if (isLabelled) this.openCall(name || (this.options.label ?? ''));
    return name !== undefined && (isLabelled || name === '');
  }

  private readObject(text: string, idAt: (offset: number) => number): number {
    const at = this.extent.read(text, 0);
    this.context.writer.write(text.slice(0, at));
    if (!this.extent.ended) return at;
    this.context.writer.end(true);
    this.stage = 'behind';
    return at + this.readBehind(text.slice(at), (offset) => idAt(at + offset));
  }

  /** Behind an object there is text again, or what should not be there before the end of the call. */
  private readBehind(text: string, idAt: (offset: number) => number): number {
    const at = firstVisible(text);
    if (at < text.length && this.options.close === undefined) {
      this.done = true;
      return at;
    }
    if (at < text.length && this.written.trim() === '') this.from = idAt(at);
    this.written += text;
    return text.length;
  }

  private writeText(text: string): void {
    const all = this.blank + text;
    const end = all.trimEnd().length;
    this.blank = all.slice(end);
    this.context.writer.write(this.hasText ? all.slice(0, end) : all.slice(0, end).trimStart());
    this.hasText ||= end > 0;
  }
}
