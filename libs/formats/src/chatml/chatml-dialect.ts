import { contentPieces, textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { wholeSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { isLineFeed, respaced, strip, stripStart } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import type { FunctionDeclaration } from '../tools/declarations.js';
import { hermesTools } from './hermes-tools.js';

export interface ChatmlOptions {
  /** What the model is told where the request has no instructions. */
  readonly defaultSystem?: string | undefined;
  /** Whether the model reasons between `<think>` marks. */
  readonly thinks?: boolean;
}

/**
 * ChatML: `<|im_start|>ROLE`, a line feed, the text, `<|im_end|>` and a line feed. Tools as Hermes and Qwen models know them.
 * Source: the chat templates of Qwen2.5, Qwen3 and SmolLM2.
 */
export class ChatmlDialect implements Dialect {
  readonly ends: readonly number[];
  readonly otherStops: readonly number[];
  readonly afterEnd = '\n';
  readonly header: number;
  readonly dropsFinishedReasoning: boolean;
  readonly reasons: boolean;
  readonly afterReasoning?: { readonly end: number; readonly text: string };
  readonly reasoning?: (text: string, out: PieceWriter) => void;
  readonly #think: ThinkMarks | undefined;

  constructor(
    protected readonly marks: Marks,
    private readonly options: ChatmlOptions = {},
  ) {
    this.header = marks.control('<|im_start|>');
    this.ends = [marks.control('<|im_end|>')];
    this.otherStops = marks.known('<|endoftext|>');
    const thinks = options.thinks === true;
    this.dropsFinishedReasoning = thinks;
    this.reasons = thinks;
    if (!thinks) return;
    const think = { begin: marks.control('<think>'), end: marks.control('</think>') };
    this.#think = think;
    this.afterReasoning = { end: think.end, text: '\n\n' };
    this.reasoning = (text, out) =>
      out.write(think.begin, `\n${strip(text, isLineFeed)}\n`, think.end, '\n\n').seam();
  }

  head({ system = this.options.defaultSystem, tools }: DialogHead, out: PieceWriter): void {
    if (system === undefined && tools.length === 0) return;
    this.turn('system', out);
    if (system !== undefined) out.write(system);
    if (tools.length > 0) {
      if (system !== undefined) out.write('\n\n');
      out.write(...this.toolsPieces(tools));
    }
    this.end(out);
  }

  user(content: Content, out: PieceWriter): void {
    this.turn('user', out);
    out.write(...contentPieces(content, this.#image()));
    this.end(out);
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    this.turn('system', out);
    out.write(...content);
    this.end(out);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    return hermesTools(tools, this.marks);
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    this.turn('assistant', out);
    out.seam();
  }

  text(text: string, part: Part, out: PieceWriter): void {
    out.write(part === 'reasoning' ? stripStart(text, isLineFeed) : text);
  }

  call({ name, arguments: written }: DialogCall, part: Part, out: PieceWriter): void {
    if (part === 'text' || part === 'calls') out.write('\n');
    const call = `\n{"name": "${name}", "arguments": ${respaced(written)}}\n`;
    out.write(this.marks.mark('<tool_call>'), call, this.marks.mark('</tool_call>'));
  }

  closeAssistant(_part: Part, out: PieceWriter): void {
    this.end(out);
  }

  output({ content, first }: DialogOutput, out: PieceWriter): void {
    if (first) out.write(this.header, 'user');
    out.write(
      '\n',
      this.marks.mark('<tool_response>'),
      `\n${textOf(content)}\n`,
      this.marks.mark('</tool_response>'),
    );
  }

  closeTools(out: PieceWriter): void {
    this.end(out);
  }

  generation(_before: Turn, reasons: boolean, out: PieceWriter): void {
    this.turn('assistant', out);
    if (this.#think !== undefined && !reasons) out.write(this.#think.begin, '\n\n', this.#think.end, '\n\n');
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(
      this.marks.mark('<tool_call>'),
      '\n{"name": "',
      ...(name === undefined ? [] : [`${name}", "arguments": `]),
    );
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return this.#think === undefined ? [run.length, run.length] : wholeSpan(run, this.#think);
  }

  protected turn(role: string, out: PieceWriter): void {
    out.write(this.header, `${role}\n`);
  }

  protected end(out: PieceWriter): void {
    out.write(...this.ends, '\n');
  }

  /** Images, in models of the family that have them. */
  #image(): readonly Piece[] {
    const [begin, pad, end] = ['<|vision_start|>', '<|image_pad|>', '<|vision_end|>'].flatMap((mark) =>
      this.marks.known(mark),
    );
    return begin === undefined || pad === undefined || end === undefined ? [] : [begin, pad, end];
  }
}
