import { textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import type { Piece } from '../format.js';
import { dumps, respaced, strip } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** What the template says where it is given no date. */
const DEFAULT_DATE = '26 Jul 2024';

/**
 * Llama 3.1 to 3.3, with the tools in the system message. A call stands in a turn of its own, since the template refuses several
 * in one. Source: the chat templates of Llama 3.1, 3.2 and 3.3, with `tools_in_user_message` false.
 */
export class Llama3Dialect implements Dialect {
  readonly ends: readonly number[];
  readonly otherStops: readonly number[];
  readonly header: number;
  readonly separates = true;
  readonly dropsFinishedReasoning = false;
  readonly reasons = false;
  readonly #bos: number;
  readonly #headerEnd: number;
  readonly #eot: number;

  constructor(marks: Marks) {
    this.#bos = marks.control('<|begin_of_text|>');
    this.header = marks.control('<|start_header_id|>');
    this.#headerEnd = marks.control('<|end_header_id|>');
    this.#eot = marks.control('<|eot_id|>');
    this.ends = [this.#eot, ...marks.known('<|eom_id|>')];
    this.otherStops = marks.known('<|end_of_text|>');
  }

  head({ system = '', tools, date }: DialogHead, out: PieceWriter): void {
    out.write(this.#bos);
    this.#turn('system', out);
    if (tools.length > 0) out.write('Environment: ipython\n');
    out.write(`Cutting Knowledge Date: December 2023\nToday Date: ${dateText(date)}\n\n`);
    if (tools.length > 0) out.write(...this.toolsPieces(tools));
    out.write(strip(system), this.#eot);
  }

  user(content: Content, out: PieceWriter): void {
    this.#whole('user', [strip(textOf(content))], out);
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    const [only] = content;
    this.#whole('system', content.length === 1 && typeof only === 'string' ? [strip(only)] : content, out);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    return [
      'You have access to the following functions. To call a function, please respond with JSON for a function call.' +
        'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.' +
        'Do not use variables.\n\n',
      ...tools.map((tool) => `${dumps(chatTool(tool), 4)}\n\n`),
    ];
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    this.#turn('assistant', out);
    out.seam();
  }

  text(text: string, _part: Part, out: PieceWriter): void {
    out.write(strip(text));
  }

  call({ name, arguments: written }: DialogCall, _part: Part, out: PieceWriter): void {
    out.write(`{"name": "${name}", "parameters": ${respaced(written)}}`);
  }

  closeAssistant(_part: Part, out: PieceWriter): void {
    out.write(this.#eot);
  }

  /** The template writes what a tool gave as a JSON string. */
  output({ content, first }: DialogOutput, out: PieceWriter): void {
    if (!first) out.write(this.#eot);
    this.#turn('ipython', out);
    out.write(dumps(textOf(content)));
  }

  closeTools(out: PieceWriter): void {
    out.write(this.#eot);
  }

  generation(_before: Turn, _reasons: boolean, out: PieceWriter): void {
    this.#turn('assistant', out);
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write('{"name": "', ...(name === undefined ? [] : [`${name}", "parameters": `]));
  }

  reasoningSpan({ length }: ArrayLike<Piece>): readonly [number, number] {
    return [length, length];
  }

  #whole(role: string, content: readonly Piece[], out: PieceWriter): void {
    this.#turn(role, out);
    out.write(...content, this.#eot);
  }

  #turn(role: string, out: PieceWriter): void {
    out.write(this.header, role, this.#headerEnd, '\n\n');
  }
}

function dateText(date: string | undefined): string {
  const [year = '', month = '', day = ''] = (date ?? '').split('-');
  const name = MONTHS[Number(month) - 1];
  return name === undefined ? DEFAULT_DATE : `${day} ${name} ${year}`;
}
