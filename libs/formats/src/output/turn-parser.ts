import { type Tool } from '@turnpike/protocol';
import { type FinishReason, type OutputEvent, type OutputParser } from '../format.js';
import { type Detokenizer, type Tokenizer } from '../tokenizer/types.js';
import { callNames } from './call-names.js';
import { type CallContext, type CallReader } from './call-reader.js';
import { JsonCalls } from './json-calls.js';
import { MarkerScanner, type ScanTarget } from './marker-scanner.js';
import { MessageWriter } from './message-writer.js';
import { firstVisible } from './blank.js';
import { Prose } from './prose.js';
import { type CallSyntax, type TurnGrammar } from './turn-grammar.js';

/** What the parser of a family is made for. */
export interface TurnParserInput {
  readonly tokenizer: Tokenizer;
  /** Tools that the client runs. */
  readonly tools: readonly Tool[];
  /** What the prompt has opened: read as if it had been sampled, and counted as if it had not. */
  readonly opened: readonly number[];
}

/** The parser of a family for one output. */
export function turnParser(grammar: TurnGrammar, input: TurnParserInput): OutputParser {
  return new TurnParser(grammar, input);
}

type Mode =
  | { readonly kind: 'header' }
  | { readonly kind: 'label'; readonly from: number }
  | { readonly kind: 'reasoning' | 'text'; readonly prose: Prose }
  | { readonly kind: 'call'; readonly reader: CallReader; readonly close: string | undefined };

/**
 * Reads the turn of a model by the grammar of its family: one machine over ids and text. Markers that are control tokens
 * are known by their id, so text that looks like one is text; those that a vocabulary has no id for are found in text.
 * Output that is not well-formed is read by these rules, none of which throws:
 * - a control id that opens calls, or ends the turn, does so everywhere, and ends what is open before it;
 * - within the text of a call one that looks like a tag is text, unless it ends the turn;
 * - one that closes what is not open is dropped, unless it is written about; any other that means nothing where it stands is its literal;
 * - what stands where a call should, and cannot be read as one, is a message, phase commentary.
 */
export class TurnParser implements OutputParser, ScanTarget {
  private readonly writer: MessageWriter;
  private readonly context: CallContext;
  private readonly detokenizer: Detokenizer;
  private readonly scanner = new MarkerScanner(this);
  /** Markers by the id that the vocabulary has for them. */
  private readonly byId = new Map<number, string>();
  private readonly controls: ReadonlySet<string>;
  /** Markers that are found in text, while text or reasoning is read. */
  private readonly inText: readonly string[];
  private readonly inReasoning: readonly string[];
  private readonly atStart: readonly string[];
  private mode: Mode;
  /** Whether the model has reasoned. */
  private reasoned = false;
  /** Text that turned out to be no call, and where it begins. */
  private returned: { text: string; from: number } | undefined;

  constructor(
    private readonly grammar: TurnGrammar,
    { tokenizer, tools, opened }: TurnParserInput,
  ) {
    const names = callNames(tools);
    const writer = new MessageWriter(opened.length);
    this.writer = writer;
    this.context = {
      names,
      writer,
      unreadable: (text, from, complete) => {
        if (text.trim() === '') return;
        writer.open({ type: 'message', phase: 'commentary' }, from);
        writer.write(text.trim());
        writer.end(complete);
      },
    };
    this.detokenizer = tokenizer.detokenizer();
    for (const marker of markersOf(grammar)) {
      const id = tokenizer.controlId(marker);
      if (id !== undefined) this.byId.set(id, marker);
    }
    this.controls = new Set(this.byId.values());
    const written = (markers: readonly string[]) => markers.filter((marker) => !this.isControl(marker));
    const { reasoning, calls, sections = [] } = grammar;
    this.inText = names.any ? written([...calls.map(({ open }) => open), ...sections]) : [];
    this.inReasoning = written(reasoning === undefined ? [] : [reasoning.close]);
    this.atStart = written(reasoning === undefined ? [] : [reasoning.open, reasoning.close]);
    this.mode = this.textMode();
    for (const id of opened) this.readOpened(id, tokenizer);
  }

  push(ids: ArrayLike<number>): OutputEvent[] {
    for (let i = 0; i < ids.length; i++) this.read(ids[i] as number);
    return this.writer.drain();
  }

  finish(reason: FinishReason): OutputEvent[] {
    this.flush();
    this.leave(reason === 'stop', false);
    this.writer.finish();
    return this.writer.drain();
  }

  get markers(): readonly string[] {
    const { mode, grammar } = this;
    switch (mode.kind) {
      case 'header':
        return this.isControl(grammar.header?.end) ? [] : [grammar.header?.end ?? ''];
      case 'label':
        return ['\n', ...this.inReasoning];
      case 'reasoning':
        // Some begin it once more.
        return mode.prose.begun ? this.inReasoning : this.atStart;
      case 'text':
        // Written out, they are about reasoning at the start alone: later somebody writes about them.
        return this.writer.begun || mode.prose.begun ? this.inText : [...this.inText, ...this.atStart];
      case 'call':
        return [
          ...mode.reader.markers.filter((marker) => !this.isControl(marker)),
          ...(mode.reader.interruptible ? this.inText : []),
        ];
    }
  }

  text(text: string, idAt: (offset: number) => number): number {
    const { mode } = this;
    switch (mode.kind) {
      case 'header':
      case 'label':
        return text.length;
      case 'call': {
        const taken = mode.reader.text(text, idAt);
        if (mode.reader.done) this.goOn();
        return taken;
      }
      case 'text':
        if (this.grammar.bareCalls === true && this.context.names.any && !mode.prose.begun) {
          const at = firstVisible(text);
          if (text.charAt(at) === '{') {
            this.readBareCalls(idAt(at));
            return at;
          }
        }
        mode.prose.text(text, idAt);
        return text.length;
      case 'reasoning':
        mode.prose.text(text, idAt);
        return text.length;
    }
  }

  marker(marker: string, id: number): void {
    const { mode, grammar } = this;
    if (mode.kind === 'header') {
      if (marker === grammar.header?.end) this.mode = this.textMode();
      return;
    }
    if (mode.kind === 'label' && marker === '\n') {
      this.mode = this.reasoningMode(mode.from);
      return;
    }
    if (mode.kind === 'call') {
      if (mode.reader.markers.includes(marker)) {
        mode.reader.marker(marker, id);
        if (mode.reader.done) this.goOn();
        return;
      }
      if (!mode.reader.quoted || !isTag(marker) || grammar.ends.includes(marker)) {
        if (marker === mode.close) {
          this.leave(true, true);
          return;
        }
        if (this.enter(marker, id)) return;
      }
    } else if (this.enter(marker, id) || this.isMisplaced(marker)) {
      return;
    }
    const taken = this.text(marker, () => id);
    if (taken < marker.length) this.text(marker.slice(taken), () => id);
  }

  private read(id: number): void {
    const marker = this.byId.get(id);
    if (marker === undefined) {
      const number = this.writer.add(id);
      this.scanner.feed(this.detokenizer.push(id), number);
    } else {
      this.flush();
      this.marker(marker, this.writer.add(id));
    }
  }

  /** Control ids of the prompt that this grammar does not know say who speaks, not what is said. */
  private readOpened(id: number, tokenizer: Tokenizer): void {
    if (!this.byId.has(id) && tokenizer.controlId(tokenizer.decode([id])) === id) this.writer.add(id);
    else this.read(id);
  }

  /** Nothing can complete a character or a marker any more. */
  private flush(): void {
    this.scanner.feed(this.detokenizer.flush(), Math.max(0, this.writer.next - 1));
    this.scanner.flush();
  }

  /** Begins what a marker opens wherever it stands; false when this one does not. */
  private enter(marker: string, id: number): boolean {
    const { grammar, mode } = this;
    const call = grammar.calls.find(({ open }) => open === marker);
    const ends = grammar.ends.includes(marker);
    const isHeader = grammar.header?.open.includes(marker) === true;
    if (call !== undefined || ends || isHeader || grammar.sections?.includes(marker) === true) {
      this.leave(true, !ends);
      if (call !== undefined) this.mode = this.callMode(call, id);
      else if (isHeader) this.mode = { kind: 'header' };
      return true;
    }
    if (marker === grammar.reasoning?.open && mode.kind === 'text') {
      if (mode.prose.inLine && isTag(marker)) {
        // Somebody writes about it.
        this.reasoned = true;
        return false;
      }
      this.leave(true, true);
      this.mode = grammar.reasoning?.labelled === true ? { kind: 'label', from: id } : this.reasoningMode(id);
      return true;
    }
    if (marker === grammar.reasoning?.close && (mode.kind === 'reasoning' || mode.kind === 'label')) {
      this.leave(true, true);
      return true;
    }
    return false;
  }

  /** Ends what is being read; text may follow. */
  private leave(complete: boolean, laidOut: boolean): void {
    const { mode } = this;
    this.mode = this.textMode();
    if (mode.kind === 'call') {
      mode.reader.finish(complete);
      this.writeReturned();
      if (this.mode.kind === 'text' && this.mode.prose.begun) this.leave(complete, laidOut);
    } else if (mode.kind === 'text' || mode.kind === 'reasoning') {
      this.reasoned ||= mode.kind === 'reasoning' && mode.prose.begun;
      mode.prose.end(complete, laidOut);
    }
  }

  /** The reader of calls has read all that it wants. */
  private goOn(): void {
    this.mode = this.textMode();
    this.writeReturned();
  }

  private writeReturned(): void {
    const { returned, mode } = this;
    this.returned = undefined;
    if (returned !== undefined && mode.kind === 'text') mode.prose.text(returned.text, () => returned.from);
  }

  /**
   * Text is the answer until a call has begun, and commentary behind one: whether a call will follow is not known when
   * its first words go out.
   */
  private textMode(): Mode {
    const prose = new Prose(this.writer, () => ({
      type: 'message',
      phase: this.writer.calls === 0 ? 'final_answer' : 'commentary',
    }));
    return { kind: 'text', prose };
  }

  private reasoningMode(from: number): Mode {
    return { kind: 'reasoning', prose: new Prose(this.writer, () => ({ type: 'reasoning' }), from) };
  }

  private callMode(call: CallSyntax, id: number): Mode {
    return { kind: 'call', reader: call.reader(this.context, id), close: call.close };
  }

  private readBareCalls(from: number): void {
    const bare = {
      giveBack: (text: string, at: number) => {
        this.returned = { text, from: at };
      },
    };
    this.mode = { kind: 'call', reader: new JsonCalls(this.context, from, { bare }), close: undefined };
  }

  private isControl(marker: string | undefined): boolean {
    return marker !== undefined && this.controls.has(marker);
  }

  /** Whether a marker means nothing where it stands, and is no text either. */
  private isMisplaced(marker: string): boolean {
    const { mode, grammar } = this;
    if (mode.kind === 'reasoning') return marker === grammar.reasoning?.open && !mode.prose.begun;
    if (mode.kind !== 'text') return false;
    const ends = grammar.calls.some(({ close }) => close === marker);
    // Behind reasoning, and in the middle of a text, somebody writes about it.
    const isClose = marker === grammar.reasoning?.close && !(this.reasoned && mode.prose.begun);
    if (ends || isClose) this.leave(true, true);
    return ends || isClose;
  }
}

/** Whether a marker looks like a tag of some text: vocabularies that have it for one read it in any text. */
function isTag(marker: string): boolean {
  return /^<\/?[\w:]+>$/.test(marker);
}

function markersOf({ header, reasoning, calls, sections = [], ends }: TurnGrammar): Set<string> {
  return new Set([
    ...(header === undefined ? [] : [...header.open, header.end]),
    ...(reasoning === undefined ? [] : [reasoning.open, reasoning.close]),
    ...calls.flatMap(({ open, markers }) => [open, ...markers]),
    ...sections,
    ...ends,
  ]);
}
