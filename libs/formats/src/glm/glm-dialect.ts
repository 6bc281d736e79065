import { textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { innerSpan, openingSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { isEntries, readJson, type JsonEntries, type JsonTree } from '../json/json-text.js';
import { dumps, strip } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

/** Which of the two ways to write: 4.5 and 4.6 put line feeds between marks, 4.7 does not. */
export type GlmVersion = '4.6' | '4.7';

/**
 * GLM 4.5 to 4.7. A turn has no end: the next one's mark ends it. Where history shows no reasoning, it says that there is
 * none. Source: the chat templates of GLM-4.6 and GLM-4.7-Flash, but for the "/nothink" that GLM-4.6's puts behind what users
 * say where reasoning is off: it would change turns that an engine has cached.
 */
export class GlmDialect implements Dialect {
  readonly ends: readonly number[] = [];
  readonly otherStops: readonly number[];
  readonly header: number;
  readonly dropsFinishedReasoning = true;
  readonly reasons = true;
  readonly #think: ThinkMarks;
  /** Between marks, in versions that have line feeds there. */
  readonly #gap: string;

  constructor(
    private readonly marks: Marks,
    private readonly version: GlmVersion,
  ) {
    this.header = marks.control('<|assistant|>');
    this.otherStops = marks.known('<|user|>', '<|observation|>', '<|endoftext|>');
    this.#think = { begin: marks.control('<think>'), end: marks.control('</think>') };
    this.#gap = version === '4.6' ? '\n' : '';
  }

  head({ system, tools }: DialogHead, out: PieceWriter): void {
    out.write(this.marks.control('[gMASK]'), this.marks.control('<sop>'));
    if (tools.length > 0) out.write(this.marks.control('<|system|>'), '\n', ...this.toolsPieces(tools));
    if (system !== undefined) this.developer([system], out);
  }

  user(content: Content, out: PieceWriter): void {
    out.write(this.marks.control('<|user|>'), this.#gap, textOf(content));
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    out.write(this.marks.control('<|system|>'), this.#gap, ...content);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    const lines = ['<tool_call>{function-name}', ...[1, 2].flatMap(examplePair)];
    const example = [...lines, '...', '</tool_call>'].join(this.#gap);
    return [
      '# Tools\n\nYou may call one or more functions to assist with the user query.\n\n' +
        'You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n',
      ...tools.map((tool) => `${dumps(chatTool(tool))}\n`),
      '</tools>\n\nFor each function call, output the function name and arguments within the following XML format:\n',
      ...this.marks.pieces(example, ...CALL_MARKS),
    ];
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    out.write(this.header).seam();
  }

  reasoning(text: string, out: PieceWriter): void {
    out.write(this.#gap, this.#think.begin, strip(text), this.#think.end).seam();
  }

  text(text: string, part: Part, out: PieceWriter): void {
    this.#afterReasoning(part, out);
    const stripped = strip(text);
    if (stripped !== '') out.write(this.#gap, stripped);
  }

  call({ name, arguments: written }: DialogCall, part: Part, out: PieceWriter): void {
    this.#afterReasoning(part, out);
    const tree = readJson(written);
    const entries: JsonEntries =
      tree !== undefined && isEntries(tree) ? tree : new Map([['arguments', written]]);
    out.write(this.#gap, this.marks.mark('<tool_call>'), name, this.#gap);
    for (const [key, value] of entries) this.#argument(key, value, out);
    out.write(this.marks.mark('</tool_call>'));
  }

  closeAssistant(part: Part, out: PieceWriter): void {
    this.#afterReasoning(part, out);
  }

  output({ content, first }: DialogOutput, out: PieceWriter): void {
    if (first) out.write(this.marks.control('<|observation|>'));
    out.write(this.#gap, this.marks.mark('<tool_response>'), this.#gap, textOf(content));
    out.write(this.#gap, this.marks.mark('</tool_response>'));
  }

  closeTools(): void {
    // The next turn's mark ends it.
  }

  generation(_before: Turn, reasons: boolean, out: PieceWriter): void {
    out.write(this.header);
    if (reasons && this.version === '4.7') out.write(this.#think.begin);
    if (!reasons) this.#noReasoning(out);
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(this.#gap, this.marks.mark('<tool_call>'), ...(name === undefined ? [] : [name, this.#gap]));
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return this.version === '4.6' ? innerSpan(run, this.#think) : openingSpan(run, this.#think);
  }

  #afterReasoning(part: Part, out: PieceWriter): void {
    if (part === 'nothing') this.#noReasoning(out);
  }

  /** Says that the model has not reasoned. */
  #noReasoning(out: PieceWriter): void {
    if (this.version === '4.6') out.write('\n', this.#think.begin, this.#think.end).seam();
    else out.write(this.#think.end).seam();
  }

  #argument(key: string, value: JsonTree, out: PieceWriter): void {
    const text = typeof value === 'string' ? value : dumps(value);
    out.write(this.marks.mark('<arg_key>'), key, this.marks.mark('</arg_key>'), this.#gap);
    out.write(this.marks.mark('<arg_value>'), text, this.marks.mark('</arg_value>'), this.#gap);
  }
}

const CALL_MARKS = ['<tool_call>', '</tool_call>', '<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'];

function examplePair(index: number): string[] {
  return [`<arg_key>{arg-key-${index}}</arg_key>`, `<arg_value>{arg-value-${index}}</arg_value>`];
}
