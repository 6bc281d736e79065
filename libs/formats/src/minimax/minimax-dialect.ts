import { textOf } from '../dialog/content.js';
import type { Dialect, DialogCall, DialogHead, DialogOutput, Part, Turn } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import { wholeSpan, type ThinkMarks } from '../dialog/think.js';
import type { Piece } from '../format.js';
import { isEntries, readJson, type JsonEntries } from '../json/json-text.js';
import { dumps } from '../json/python-text.js';
import type { Content } from '../spoken/spoken.js';
import { chatTool, type FunctionDeclaration } from '../tools/declarations.js';

const DEFAULT_SYSTEM = 'You are a helpful assistant.';

/** MiniMax M2, which always reasons. Source: its chat template. */
export class MiniMaxDialect implements Dialect {
  readonly ends: readonly number[];
  readonly afterEnd = '\n';
  readonly header: number;
  readonly dropsFinishedReasoning = true;
  readonly reasons = true;
  readonly afterReasoning: { readonly end: number; readonly text: string };
  readonly #think: ThinkMarks;

  constructor(private readonly marks: Marks) {
    this.header = marks.control(']~b]');
    this.ends = [marks.control('[e~[')];
    this.#think = { begin: marks.control('<think>'), end: marks.control('</think>') };
    this.afterReasoning = { end: this.#think.end, text: '\n\n' };
  }

  head({ system = DEFAULT_SYSTEM, tools }: DialogHead, out: PieceWriter): void {
    out.write(this.marks.control(']~!b['));
    const told = tools.length === 0 ? [] : ['\n\n', ...this.toolsPieces(tools)];
    this.developer([system, ...told], out);
  }

  user(content: Content, out: PieceWriter): void {
    this.#whole('user', [textOf(content)], out);
  }

  developer(content: readonly Piece[], out: PieceWriter): void {
    this.#whole('system', content, out);
  }

  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    return [
      '# Tools\nYou may call one or more tools to assist with the user query.\n' +
        'Here are the tools available in JSONSchema format:\n\n<tools>\n',
      ...tools.map((tool) => `<tool>${dumps(functionOf(tool))}</tool>\n`),
      '</tools>\n\nWhen making tool calls, use XML format to invoke tools and pass parameters:\n\n',
      ...this.marks.pieces(
        '<minimax:tool_call>\n<invoke name="tool-name-1">\n<parameter name="param-key-1">param-value-1</parameter>\n' +
          '<parameter name="param-key-2">param-value-2</parameter>\n...\n</invoke>\n</minimax:tool_call>',
        '<minimax:tool_call>',
        '</minimax:tool_call>',
      ),
    ];
  }

  openAssistant(_before: Turn, out: PieceWriter): void {
    out.write(this.header, 'ai\n');
  }

  reasoning(text: string, out: PieceWriter): void {
    out.write(this.#think.begin, `\n${text}\n`, this.#think.end, '\n\n').seam();
  }

  text(text: string, part: Part, out: PieceWriter): void {
    if (part === 'nothing') out.seam();
    out.write(text);
  }

  call({ name, arguments: written }: DialogCall, part: Part, out: PieceWriter): void {
    if (part !== 'calls') out.write('\n', this.marks.mark('<minimax:tool_call>'), '\n');
    const tree = readJson(written);
    const entries: JsonEntries =
      tree !== undefined && isEntries(tree) ? tree : new Map([['arguments', written]]);
    const parameters = [...entries].map(([key, value]) => {
      const text = typeof value === 'string' ? value : dumps(value);
      return `<parameter name="${key}">${text}</parameter>\n`;
    });
    out.write(`<invoke name="${name}">\n${parameters.join('')}</invoke>\n`);
  }

  closeAssistant(part: Part, out: PieceWriter): void {
    if (part === 'calls') out.write(this.marks.mark('</minimax:tool_call>'));
    out.write(...this.ends, '\n');
  }

  output({ content, first }: DialogOutput, out: PieceWriter): void {
    if (first) out.write(this.header, 'tool');
    out.write(`\n<response>${textOf(content)}</response>`);
  }

  closeTools(out: PieceWriter): void {
    out.write(...this.ends, '\n');
  }

  generation(_before: Turn, _reasons: boolean, out: PieceWriter): void {
    out.write(this.header, 'ai\n', this.#think.begin, '\n');
  }

  callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(this.#think.end, '\n\n\n', this.marks.mark('<minimax:tool_call>'));
    out.write('\n<invoke name="', ...(name === undefined ? [] : [`${name}">\n`]));
  }

  reasoningSpan(run: ArrayLike<Piece>): readonly [number, number] {
    return wholeSpan(run, this.#think);
  }

  #whole(role: string, content: readonly Piece[], out: PieceWriter): void {
    out.write(this.header, `${role}\n`, ...content, ...this.ends, '\n');
  }
}

function functionOf(tool: FunctionDeclaration) {
  const declared = chatTool(tool);
  return isEntries(declared) ? (declared.get('function') ?? declared) : declared;
}
