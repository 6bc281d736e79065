import { contentPieces, textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { innerSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { dumps, respaced } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

const DEFAULT_SYSTEM = 'You are Kimi, an AI assistant created by Moonshot AI.';

/**
 * Kimi K2. Calls are numbered through the conversation, and outputs say which one they are of. With `thinks`, every turn of the
 * assistant has its reasoning, if only an empty one. Source: the chat templates of Kimi-K2-Thinking and Kimi-K2-Instruct.
 */
export class KimiDialect implements Dialect {
  readonly ends: readonly number[];
  readonly otherStops: readonly number[];
  readonly header: number;
  readonly dropsFinishedReasoning: boolean;
  readonly reasons: boolean;
  readonly reasoning?: (text: string, out: PieceWriter) => void;
  readonly #think: ThinkMarks | undefined;
  readonly #middle: number;

  constructor(
    private readonly marks: Marks,
    thinks: boolean,
  ) {
    this.header = marks.control('<|im_assistant|>');
    this.ends = [marks.control('<|im_end|>')];
    this.otherStops = marks.known('[EOS]');
    this.#middle = marks.control('<|im_middle|>');
    this.dropsFinishedReasoning = thinks;
    this.reasons = thinks;
    if (!thinks) return;
    const think = { begin: marks.control('<think>'), end: marks.control('</think>') };
    this.#think = think;
    this.reasoning = (text, out) => out.write(think.begin, text, think.end);
  }

  head({ system, tools }: DialogHead, out: PieceWriter): void {
    if (tools.length > 0) this.#whole('<|im_system|>', 'tool_declare', this.toolsPieces(tools), out);
    this.developer([system ?? DEFAULT_SYSTEM], out);
    // The template of Kimi-K2-Instruct has a line feed behind a system message of its own, and nowhere else.
    if (system === undefined && this.#think === undefined) out.write('\n');
  }

  user(content: Content, out: PieceWriter): void {
    this.#whole('<|im_user|>', 'user', contentPieces(content, this.#image()), out);
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    this.#whole('<|im_system|>', 'system', content, out);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    return [dumps(tools.map(chatTool))];
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    out.write(this.header, 'assistant', this.#middle).seam();
  }

  text(text: string, part: Part, out: PieceWriter): void {
    this.#afterReasoning(part, out);
    out.write(text);
  }

  call(call: DialogCall, part: Part, out: PieceWriter): void {
    const { marks } = this;
    this.#afterReasoning(part, out);
    if (part !== 'calls') out.write(marks.control('<|tool_calls_section_begin|>'));
    out.write(marks.control('<|tool_call_begin|>'), this.reference(call, undefined));
    out.write(marks.control('<|tool_call_argument_begin|>'), respaced(call.arguments));
    out.write(marks.control('<|tool_call_end|>'));
  }

  /** What the model named a call by, or the name that it would have had. */
  reference({ name, count }: DialogCall, sampled: string | undefined): string {
    const written = sampled?.split('<|tool_call_begin|>').at(-1)?.split('<|tool_call_argument_begin|>')[0];
    return written?.trim() || `functions.${name}:${count}`;
  }

  closeAssistant(part: Part, out: PieceWriter): void {
    this.#afterReasoning(part, out);
    if (part === 'calls') out.write(this.marks.control('<|tool_calls_section_end|>'));
    out.write(...this.ends);
  }

  /** Each in a turn of its own. */
  output({ reference, name, content, first }: DialogOutput, out: PieceWriter): void {
    if (!first) out.write(...this.ends);
    const of = reference ?? name ?? 'functions.unknown';
    out.write(
      this.marks.control('<|im_system|>'),
      'tool',
      this.#middle,
      `## Return of ${of}\n${textOf(content)}`,
    );
  }

  closeTools(out: PieceWriter): void {
    out.write(...this.ends);
  }

  generation(_before: Turn, reasons: boolean, out: PieceWriter): void {
    out.write(this.header, 'assistant', this.#middle);
    if (!reasons) this.#afterReasoning('nothing', out);
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    const { marks } = this;
    out.write(
      marks.control('<|tool_calls_section_begin|>'),
      marks.control('<|tool_call_begin|>'),
      'functions',
    );
    if (name !== undefined) out.write(`.${name}:`);
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return this.#think === undefined ? [run.length, run.length] : innerSpan(run, this.#think);
  }

  /** Behind nothing, says that the model has not reasoned. */
  #afterReasoning(part: Part, out: PieceWriter): void {
    if (part === 'nothing' && this.#think !== undefined) out.write(this.#think.begin, this.#think.end);
  }

  #whole(begin: string, role: string, content: readonly Piece[], out: PieceWriter): void {
    out.write(this.marks.control(begin), role, this.#middle, ...content, ...this.ends);
  }

  #image(): readonly Piece[] {
    const [begin, inside, pad, end] = [
      '<|media_start|>',
      '<|media_content|>',
      '<|media_pad|>',
      '<|media_end|>',
    ].flatMap((mark) => this.marks.known(mark));
    if (begin === undefined || inside === undefined || pad === undefined || end === undefined) return [];
    return [begin, 'image', inside, pad, end];
  }
}
