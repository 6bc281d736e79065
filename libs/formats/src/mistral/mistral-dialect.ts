import { contentPieces, textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { wholeSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { dumps, respaced } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

/**
 * Mistral from its 11th tokenizer on, with the tools in the head: Ministral 3, Devstral. Its assistant has no header. Reasoning
 * of finished turns stays. Source: the chat templates of Ministral 3 and Devstral.
 */
export class MistralDialect implements Dialect {
  readonly ends: readonly number[];
  readonly dropsFinishedReasoning = false;
  readonly reasons = true;
  readonly reasoning?: (text: string, out: PieceWriter) => void;
  readonly #think: ThinkMarks | undefined;

  constructor(private readonly marks: Marks) {
    this.ends = [marks.control('</s>')];
    const [begin, end] = [...marks.known('[THINK]'), ...marks.known('[/THINK]')];
    if (begin === undefined || end === undefined) return;
    this.#think = { begin, end };
    this.reasoning = (text, out) => out.write(begin, text, end);
  }

  head({ system, tools }: DialogHead, out: PieceWriter): void {
    out.write(this.marks.control('<s>'));
    if (system !== undefined) this.developer([system], out);
    if (tools.length > 0) out.write(...this.toolsPieces(tools));
  }

  user(content: Content, out: PieceWriter): void {
    this.#between('INST', contentPieces(content, this.marks.known('[IMG]')), out);
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    this.#between('SYSTEM_PROMPT', content, out);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    const { marks } = this;
    return [
      marks.control('[AVAILABLE_TOOLS]'),
      dumps(tools.map(chatTool)),
      marks.control('[/AVAILABLE_TOOLS]'),
    ];
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    out.seam();
  }

  text(text: string, _part: Part, out: PieceWriter): void {
    out.write(text);
  }

  call({ name, arguments: written }: DialogCall, _part: Part, out: PieceWriter): void {
    const { marks } = this;
    out.write(
      marks.control('[TOOL_CALLS]'),
      name,
      marks.control('[ARGS]'),
      written === '' ? '{}' : respaced(written),
    );
  }

  closeAssistant(_part: Part, out: PieceWriter): void {
    out.write(...this.ends);
  }

  output({ content }: DialogOutput, out: PieceWriter): void {
    this.#between('TOOL_RESULTS', [textOf(content)], out);
  }

  closeTools(): void {
    // Each output is closed by itself.
  }

  generation(): void {
    // The assistant begins without a word.
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(
      this.marks.control('[TOOL_CALLS]'),
      ...(name === undefined ? [] : [name, this.marks.control('[ARGS]')]),
    );
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return this.#think === undefined ? [run.length, run.length] : wholeSpan(run, this.#think);
  }

  #between(name: string, content: readonly Piece[], out: PieceWriter): void {
    out.write(this.marks.control(`[${name}]`), ...content, this.marks.control(`[/${name}]`));
  }
}
