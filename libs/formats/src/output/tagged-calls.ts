import { type CallContext, type CallReader } from './call-reader.js';
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

type Stage = 'outside' | 'name' | 'inside' | 'key' | 'gap' | 'value';

/** Calls whose parameters stand in tags, as text without quotes. */
export class TaggedCalls implements CallReader {
  done = false;
  readonly interruptible = false;
  private stage: Stage;
  private from: number;
  private calls = 0;
  /** A name, or what a parameter begins with. */
  private written = '';
  /** Text outside of all calls. */
  private stray = '';
  private values: TypedArguments | undefined;
  private valueBegun = false;
  /** A line break at the end of a value, which belongs to it only when something follows. */
  private lineBreak = '';

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

  get markers(): readonly string[] {
    const { callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, valueEnd, close } = this.syntax;
    const wanted: Record<Stage, (string | undefined)[]> = {
      outside: [callOpen, close],
      name: nameEnd === undefined ? [keyOpen, close] : [nameEnd],
      inside: [keyOpen, callClose, close],
      key: [keyEnd],
      gap: [valueOpen, keyOpen, callClose, close],
      value: [valueEnd],
    };
    return wanted[this.stage].filter((marker) => marker !== undefined);
  }

  text(text: string): number {
    if (this.stage === 'name' || this.stage === 'key') this.written += text;
    else if (this.stage === 'value') this.writeValue(text);
    else if (this.stage === 'outside') this.stray += text;
    return text.length;
  }

  marker(marker: string, id: number): void {
    const { callOpen, nameEnd, callClose, keyOpen, keyEnd, valueOpen, valueEnd, close } = this.syntax;
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
    else if (marker === valueEnd) this.endValue();
    else if (marker === callClose) this.endCall(true);
    else if (marker === close) {
      this.finish(true);
      this.done = true;
    } else if (marker === nameEnd) this.stage = 'inside';
    if (marker === callClose && close === undefined) this.done = true;
  }

  finish(complete: boolean): void {
    if (this.stage === 'name' && complete && /^\s*[^\s<>]+\s*$/.test(this.written)) this.openCall();
    if (this.values !== undefined) this.endCall(complete);
    else if (this.calls === 0) {
      this.context.unreadable(this.stray + this.written, this.from, complete);
    }
    this.begin('outside');
    this.stray = '';
  }

  private begin(stage: Stage): void {
    this.stage = stage;
    this.written = '';
  }

  private openCall(): void {
    const { names, writer } = this.context;
    const name = this.written.trim();
    if (name === '') {
      this.begin('outside');
      return;
    }
    const call = names.resolve(name);
    this.calls++;
    writer.open(call, this.from);
    this.values = new TypedArguments(names.parameters(call), writer);
    this.begin('inside');
  }

  private beginValue(): void {
    const written = this.written.trim();
    const { key, written: how } = this.syntax.keyOf?.(written) ?? { key: written };
    this.values?.begin(key, how);
    this.valueBegun = false;
    this.lineBreak = '';
    this.begin(this.syntax.valueOpen === undefined ? 'value' : 'gap');
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
    this.values?.end();
    this.begin('inside');
  }

  private endCall(complete: boolean): void {
    if (complete && (this.stage === 'value' || this.stage === 'gap')) this.values?.end();
    if (complete) this.values?.finish();
    this.context.writer.end(complete);
    this.values = undefined;
    this.begin('outside');
  }
}
