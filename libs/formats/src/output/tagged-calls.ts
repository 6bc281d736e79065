import { type CallContext, type CallReader } from './call-reader.js';
import { JsonCalls } from './json-calls.js';
import { firstVisible } from './blank.js';
import { TypedArguments } from './typed-arguments.js';

/** How a family writes calls in tags. */
export interface TagSyntax {
  /** Begins a call; undefined where the marker that opens the block does. */
  readonly callOpen?: string | undefined;
  /** Ends the name; undefined where the first parameter or the end of the call does. */
  readonly nameEnd?: string | undefined;
  /** Ends a call; undefined where `close` does. */
  readonly callClose?: string | undefined;
  readonly keyOpen: string;
  /** Ends what a parameter begins with. */
  readonly keyEnd: string;
  /** Begins the value behind that; undefined where nothing stands between. */
  readonly valueOpen?: string | undefined;
  readonly valueEnd: string;
  /** Ends the block; undefined where the end of the call does. */
  readonly close?: string | undefined;
  /** Whether a value stands on lines of its own. */
  readonly ownLines?: boolean | undefined;
  /** The name of a parameter, and how its value is written, in what stands between `keyOpen` and `keyEnd`. */
  readonly keyOf?: ((written: string) => { key: string; written?: 'string' | 'json' }) | undefined;
}

/** Longer than what parameters begin with. */
const MAX_KEY = 128;

type Stage = 'outside' | 'name' | 'inside' | 'key' | 'gap' | 'value';

/**
 * Calls whose parameters stand in tags, as text without quotes. A value may hold such tags itself: it ends at one that ends
 * values where what belongs behind that follows, at one that ends calls where the calls end there as well, and where a parameter
 * begins that is yet to be given. Where an object stands instead of tags, the calls in it are read.
 */
export class TaggedCalls implements CallReader {
  done = false;
  private stage: Stage;
  private from: number;
  private calls = 0;
  /** A name, or what a parameter begins with. */
  private written = '';
  /** Text outside of all calls, or of the parameters of one. */
  private stray = '';
  private values: TypedArguments | undefined;
  private valueBegun = false;
  /** A line break at the end of a value, which belongs to it only when something follows. */
  private lineBreak = '';
  /** What may have ended a value, and all that was written since. */
  private ending: { readonly marker: string; text: string } | undefined;
  private objects: JsonCalls | undefined;

  constructor(
    private readonly context: CallContext,
    from: number,
    private readonly syntax: TagSyntax,
    /** Whether the marker that opens the block was `callOpen` itself. */
    begun = false,
  ) {
    this.from = from;
    this.stage = begun || syntax.callOpen === undefined ? 'name' : 'outside';
  }

  get interruptible(): boolean {
    return this.objects?.interruptible ?? this.isEnding;
  }

  get quoted(): boolean {
    return this.objects?.quoted ?? (this.stage === 'value' && this.ending === undefined);
  }

  get markers(): readonly string[] {
    if (this.objects !== undefined) return this.objects.markers;
    const { callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, valueEnd, close } = this.syntax;
    const wanted: Record<Stage, (string | undefined)[]> = {
      outside: [callOpen, close],
      name: nameEnd === undefined ? [keyOpen, close] : [nameEnd],
      inside: [keyOpen, callClose, close],
      key: [keyEnd],
      gap: [valueOpen, keyOpen, callClose, close],
      value: [
        ...[valueEnd, callClose, close, keyOpen],
        ...(this.ending?.marker === keyOpen ? [keyEnd] : []),
        ...(this.ending === undefined ? [] : [callOpen]),
      ],
    };
    return wanted[this.stage].filter((marker) => marker !== undefined);
  }

  text(text: string, idAt: (offset: number) => number): number {
    if (this.objects !== undefined) return this.readObjects(this.objects, text, idAt);
    if (this.stage === 'value') this.readValue(text);
    else if (this.stage === 'name' || this.stage === 'key') {
      if (this.stage === 'name' && this.isObject(this.written, text)) return this.beginObjects(text, idAt);
      this.written += text;
    } else {
      if (this.stage === 'outside' && this.isObject(this.stray, text)) return this.beginObjects(text, idAt);
      this.stray += text;
    }
    return text.length;
  }

  marker(marker: string, id: number): void {
    if (this.objects !== undefined) {
      this.objects.marker();
      this.done = this.objects.done;
      return;
    }
    if (this.stage === 'value') {
      this.inValue(marker, id);
      return;
    }
    const { callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, close } = this.syntax;
    const before = this.stage;
    if (before === 'name' && marker !== close) this.openCall();
    switch (marker) {
      case callOpen:
        if (this.calls > 0) this.from = id;
        this.begin('name');
        return;
      case keyOpen:
        if (before === 'gap') this.values?.end();
        this.begin('key');
        return;
      case keyEnd:
        if (before === 'key') {
          this.beginValue();
          return;
        }
    }
    if (marker === valueOpen) this.stage = 'value';
    else if (marker === callClose) this.endCall(true);
    else if (marker === close) {
      this.finish(true);
      this.done = true;
    } else if (marker === nameEnd) this.stage = 'inside';
    if (marker === callClose && close === undefined) this.done = true;
  }

  finish(complete: boolean): void {
    if (this.objects !== undefined) {
      this.objects.finish(complete);
      return;
    }
    const isEnded = this.isEnding;
    if (this.ending?.marker === this.syntax.keyOpen) this.goOnWithValue();
    if (this.ending !== undefined) this.endValue();
    if (this.stage === 'name' && complete && /^\s*[^\s<>]+\s*$/.test(this.written)) this.openCall();
    if (this.values !== undefined) this.endCall(complete || isEnded);
    else if (this.calls === 0) {
      this.context.unreadable(this.stray + this.written, this.from, complete);
    }
    this.begin('outside');
    this.stray = '';
  }

  /** Whether the call may have ended inside a value. */
  private get isEnding(): boolean {
    const marker = this.ending?.marker;
    return marker !== undefined && marker !== this.syntax.valueEnd && marker !== this.syntax.keyOpen;
  }

  private begin(stage: Stage): void {
    this.stage = stage;
    this.written = '';
  }

  /** Whether an object stands where calls in tags should, behind what was read there. */
  private isObject(before: string, text: string): boolean {
    return this.calls === 0 && before.trim() === '' && /^\s*[{[]/.test(text);
  }

  private beginObjects(text: string, idAt: (offset: number) => number): number {
    this.objects = new JsonCalls(this.context, this.from, { close: this.syntax.close });
    return this.readObjects(this.objects, text, idAt);
  }

  private readObjects(objects: JsonCalls, text: string, idAt: (offset: number) => number): number {
    const taken = objects.text(text, idAt);
    this.done = objects.done;
    return taken;
  }

  private openCall(): void {
    const { names, writer } = this.context;
    const name = unquoted(this.written);
    if (name === '') {
      this.begin('outside');
      return;
    }
    const call = names.resolve(name);
    this.calls++;
    this.stray = '';
    writer.open(call, this.from);
    this.values = new TypedArguments(names.parameters(call), writer);
    this.begin('inside');
  }

  private beginValue(): void {
    const { key, written } = this.keyOf(this.written);
    this.values?.begin(key, written);
    this.valueBegun = false;
    this.lineBreak = '';
    this.begin(this.syntax.valueOpen === undefined ? 'value' : 'gap');
  }

  private keyOf(written: string): { key: string; written?: 'string' | 'json' } {
    const key = unquoted(written);
    return this.syntax.keyOf?.(key) ?? { key };
  }

  private readValue(text: string): void {
    if (this.ending === undefined) this.writeValue(text);
    else {
      this.ending.text += text;
      const goesOn =
        this.ending.marker === this.syntax.keyOpen
          ? this.ending.text.length > MAX_KEY
          : firstVisible(text) < text.length;
      if (goesOn) this.goOnWithValue();
    }
  }

  /** A marker that may end a value, or behind one that did. */
  private inValue(marker: string, id: number): void {
    const { valueEnd, keyOpen, keyEnd, callOpen } = this.syntax;
    const ended = this.ending?.marker;
    if (ended === keyOpen && marker === keyEnd) {
      this.beginNext();
    } else if (
      (ended === valueEnd && marker !== valueEnd) ||
      (this.isEnding && marker !== valueEnd && marker !== keyOpen)
    ) {
      this.endValue();
      if (ended !== valueEnd) this.endCall(true);
      this.marker(marker, id);
    } else {
      this.goOnWithValue();
      if (marker === callOpen || marker === keyEnd) this.writeValue(marker);
      else this.ending = { marker, text: marker };
    }
  }

  /** A parameter begins inside a value: where it may, the end of the value was left out. */
  private beginNext(): void {
    const { keyOpen, keyEnd } = this.syntax;
    const written = this.ending?.text.slice(keyOpen.length) ?? '';
    if (this.values?.expects(this.keyOf(written).key) === true) {
      this.endValue();
      this.written = written;
      this.beginValue();
    } else {
      this.goOnWithValue();
      this.writeValue(keyEnd);
    }
  }

  /** What might have been the end of a value was none. */
  private goOnWithValue(): void {
    const { ending } = this;
    this.ending = undefined;
    if (ending !== undefined) this.writeValue(ending.text);
  }

  private writeValue(given: string): void {
    let text = given;
    if (this.syntax.ownLines === true) {
      if (!this.valueBegun && text.startsWith('\n')) text = text.slice(1);
      this.valueBegun = true;
      text = this.lineBreak + text;
      this.lineBreak = text.endsWith('\n') ? '\n' : '';
      text = text.slice(0, text.length - this.lineBreak.length);
    }
    this.values?.text(text);
  }

  private endValue(): void {
    this.ending = undefined;
    this.values?.end();
    this.begin('inside');
    this.stray = '';
  }

  private endCall(complete: boolean): void {
    if (complete && (this.stage === 'value' || this.stage === 'gap')) this.values?.end();
    if (complete) this.values?.finish(this.stray);
    this.context.writer.end(complete);
    this.values = undefined;
    this.stray = '';
    this.begin('outside');
  }
}

/** A name without white space and quotes around it. */
function unquoted(written: string): string {
  return written.trim().replace(/^(["'])(.*)\1$/s, '$2');
}
