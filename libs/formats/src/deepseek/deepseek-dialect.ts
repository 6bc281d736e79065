import { textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { openingSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { dumps, respaced } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import type { FunctionDeclaration } from '../tools/declarations.js';

/**
 * DeepSeek V3.1. History shows no reasoning, only that there is none. It has no place for a developer message behind the head:
 * one is written as the user's, where it stands. Source: the chat template and the model card of DeepSeek-V3.1.
 */
export class DeepSeekDialect implements Dialect {
  readonly ends: readonly number[];
  readonly header: number;
  readonly goesOnBehindTools = true;
  readonly dropsFinishedReasoning = true;
  readonly reasons = false;
  readonly #think: ThinkMarks;
  readonly #user: number;

  constructor(private readonly marks: Marks) {
    this.ends = [marks.control('<｜end▁of▁sentence｜>')];
    this.header = marks.control('<｜Assistant｜>');
    this.#user = marks.control('<｜User｜>');
    this.#think = { begin: marks.control('<think>'), end: marks.control('</think>') };
  }

  head({ system, tools }: DialogHead, out: PieceWriter): void {
    out.write(this.marks.control('<｜begin▁of▁sentence｜>'));
    if (system !== undefined) out.write(system);
    if (tools.length > 0) out.write('\n\n', ...this.toolsPieces(tools));
  }

  user(content: Content, out: PieceWriter): void {
    out.write(this.#user, textOf(content));
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    out.write(this.#user, ...content);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    const begins = ['calls', 'call'].map((name) => this.#tool(name, 'begin'));
    const ends = this.#tool('calls', 'end');
    return [
      '## Tools\nYou have access to the following tools:\n',
      ...tools.map(
        ({ name, description, parameters }) =>
          `\n### ${name}\nDescription: ${description ?? ''}\n\nParameters: ${dumps(parameters)}\n`,
      ),
      '\nIMPORTANT: ALWAYS adhere to this exact format for tool use:\n',
      ...begins,
      'tool_call_name',
      this.#separator(),
      'tool_call_arguments',
      this.#tool('call', 'end'),
      '{{additional_tool_calls}}',
      ends,
      '\n\nWhere:\n\n- `tool_call_name` must be an exact match to one of the available tools\n' +
        "- `tool_call_arguments` must be valid JSON that strictly follows the tool's Parameters Schema\n" +
        '- For multiple tool calls, chain them directly without separators or spaces\n',
    ];
  }

  openAssistant(before: Turn, out: PieceWriter): void {
    if (before !== 'tools') out.write(this.header, this.#think.end);
    out.seam();
  }

  text(text: string, _part: Part, out: PieceWriter): void {
    out.write(text);
  }

  call({ name, arguments: written }: DialogCall, part: Part, out: PieceWriter): void {
    if (part !== 'calls') out.write(this.#tool('calls', 'begin'));
    out.write(
      this.#tool('call', 'begin'),
      name,
      this.#separator(),
      respaced(written),
      this.#tool('call', 'end'),
    );
  }

  closeAssistant(part: Part, out: PieceWriter): void {
    if (part === 'calls') out.write(this.#tool('calls', 'end'));
    out.write(...this.ends);
  }

  output({ content }: DialogOutput, out: PieceWriter): void {
    out.write(this.#tool('output', 'begin'), textOf(content), this.#tool('output', 'end'));
  }

  closeTools(): void {
    // Each output is closed by itself.
  }

  generation(before: Turn, reasons: boolean, out: PieceWriter): void {
    if (before !== 'tools') out.write(this.header, reasons ? this.#think.begin : this.#think.end);
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(this.#tool('calls', 'begin'), this.#tool('call', 'begin'));
    if (name !== undefined) out.write(name, this.#separator());
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return openingSpan(run, this.#think);
  }

  #tool(name: string, edge: 'begin' | 'end'): number {
    return this.marks.control(`<｜tool▁${name}▁${edge}｜>`);
  }

  #separator(): number {
    return this.marks.control('<｜tool▁sep｜>');
  }
}
