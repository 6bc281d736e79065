import { type CallContext, type CallReader } from './call-reader.js';
import { JsonCalls } from './json-calls.js';
import { LiteralJson } from './literal-json.js';

export interface LiteralCallOptions {
  /** Stands before the name. */
  readonly prefix?: string | undefined;
  /** Begins the arguments behind the name. */
  readonly bracket: '(' | '{';
  /** A marker that quotes strings. */
  readonly quote?: string | undefined;
  readonly close: string;
}

/**
 * Calls as a name and literals in brackets: `f(a='x', b=2)`, alone or in a list, or `call:f{a:<|"|>x<|"|>}`. Where an
 * object stands instead of the name, the calls in it are read.
 */
export class LiteralCalls implements CallReader {
  done = false;
  readonly interruptible = false;
  private written = '';
  private values: LiteralJson | undefined;
  private calls = 0;
  private objects: JsonCalls | undefined;

  constructor(
    private readonly context: CallContext,
    private from: number,
    private readonly options: LiteralCallOptions,
  ) {}

  get quoted(): boolean {
    return this.objects?.quoted ?? this.values?.quoted ?? false;
  }

  get markers(): readonly string[] {
    const { quote, close } = this.options;
    if (this.objects !== undefined) return this.objects.markers;
    return [...(quote === undefined ? [] : [quote]), ...(this.values?.quoted === true ? [] : [close])];
  }

  text(text: string, idAt: (offset: number) => number): number {
    for (let at = 0; at < text.length;) {
      if (this.objects !== undefined) {
        return at + this.objects.text(text.slice(at), (offset) => idAt(at + offset));
      }
      if (this.values !== undefined) {
        at = this.values.text(text, at);
        if (this.values.ended) this.endCall(true);
        continue;
      }
      const char = text.charAt(at);
      if (char === '{' && this.written === '' && this.calls === 0) {
        this.objects = new JsonCalls(this.context, this.from, { close: this.options.close });
        continue;
      }
      if (char === this.options.bracket && this.name() !== '') {
        this.openCall();
      } else if (/[\s,[\]]/.test(char) && this.written === '') {
        // Between calls.
      } else {
        if (this.written === '' && this.calls > 0) this.from = idAt(at);
        this.written += char;
      }
      at++;
    }
    return text.length;
  }

  marker(marker: string): void {
    if (marker === this.options.quote) {
      this.values?.quote();
    } else {
      this.finish(true);
      this.done = true;
    }
  }

  finish(complete: boolean): void {
    if (this.objects !== undefined) this.objects.finish(complete);
    else if (this.values !== undefined) {
      if (complete) this.values.finish();
      this.endCall(complete);
    } else if (this.calls === 0) {
      this.context.unreadable(this.written, this.from, complete);
    }
    this.written = '';
  }

  private name(): string {
    const { prefix = '' } = this.options;
    const written = this.written.trim();
    return written.startsWith(prefix) ? written.slice(prefix.length) : written;
  }

  private openCall(): void {
    const { names, writer } = this.context;
    writer.open(names.resolve(this.name()), this.from);
    this.written = '';
    this.calls++;
    this.values = new LiteralJson((json) => {
      writer.write(json);
    });
  }

  private endCall(complete: boolean): void {
    this.context.writer.end(complete);
    this.values = undefined;
  }
}
