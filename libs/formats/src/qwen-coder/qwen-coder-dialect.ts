import { ChatmlDialect } from '../chatml/chatml-dialect.js';
import { textOf } from '../dialog/content.js';
import type { DialogCall, DialogHead, DialogOutput, Part } from '../dialog/dialect.js';
import type { Marks } from '../dialog/marks.js';
import type { PieceWriter } from '../dialog/piece-writer.js';
import type { Piece } from '../format.js';
import { isEntries, readJson, type JsonEntries, type JsonTree } from '../json/json-text.js';
import { dumps, str, strip } from '../json/python-text.js';
import type { FunctionDeclaration } from '../tools/declarations.js';

const DEFAULT_SYSTEM =
  'You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.';

const EXAMPLE =
  'If you choose to call a tool ONLY reply in the following format with NO suffix:\n\n<tool_call>\n' +
  '<function=example_function_name>\n<parameter=example_parameter_1>\nvalue_1\n</parameter>\n' +
  '<parameter=example_parameter_2>\nvalue_2\n</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\nReminder:\n' +
  '- Function calls MUST follow the specified format: the tool calling block MUST begin with an opening <tool_call> tag and end with a closing </tool_call> tag.\n' +
  '- Required parameters MUST be specified\n' +
  '- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after\n' +
  '- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls\n' +
  '</IMPORTANT>';

/** ChatML with tools and calls in XML. Source: the chat template of Qwen3-Coder. */
export class QwenCoderDialect extends ChatmlDialect {
  constructor(marks: Marks) {
    super(marks);
  }

  override head(head: DialogHead, out: PieceWriter): void {
    const { system = head.tools.length > 0 ? DEFAULT_SYSTEM : undefined } = head;
    super.head({ ...head, system }, out);
  }

  override toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[] {
    return [
      '# Tools\n\nYou have access to the following tools:\n\n<tools>',
      ...tools.map(toolText),
      '\n</tools>\n\n',
      ...this.marks.pieces(EXAMPLE, '<tool_call>', '</tool_call>'),
    ];
  }

  override call({ name, arguments: written }: DialogCall, part: Part, out: PieceWriter): void {
    if (part === 'text') out.rewrite((text) => (strip(text) === '' ? '' : `${strip(text)}\n\n`));
    else if (part === 'calls') out.write('\n');
    const tree = readJson(written);
    const parameters: JsonEntries =
      tree !== undefined && isEntries(tree) ? tree : new Map([['arguments', written]]);
    const lines = [...parameters].map(
      ([key, value]) => `<parameter=${key}>\n${valueText(value)}\n</parameter>\n`,
    );
    out.write(
      this.marks.mark('<tool_call>'),
      `\n<function=${name}>\n${lines.join('')}</function>\n`,
      this.marks.mark('</tool_call>'),
    );
  }

  override output({ content, first }: DialogOutput, out: PieceWriter): void {
    if (first) this.turn('user', out);
    out.write(
      this.marks.mark('<tool_response>'),
      `\n${textOf(content)}\n`,
      this.marks.mark('</tool_response>'),
      '\n',
    );
  }

  override callOpening(name: string | undefined, out: PieceWriter): void {
    out.write(this.marks.mark('<tool_call>'), '\n<function=', ...(name === undefined ? [] : [`${name}>\n`]));
  }
}

/** A tool, and the fields of it that have no line of their own. */
function toolText({ name, description, parameters }: FunctionDeclaration): string {
  const entries = isEntries(parameters) ? parameters : new Map<string, JsonTree>();
  const properties = entries.get('properties');
  const lines = [`\n<function>\n<name>${name}</name>`];
  if (description !== undefined) lines.push(`\n<description>${strip(description)}</description>`);
  lines.push('\n<parameters>');
  if (properties !== undefined && isEntries(properties)) {
    for (const [key, fields] of properties) lines.push(parameterText(key, fields));
  }
  lines.push(extraText(entries, ['type', 'properties']), '\n</parameters>\n</function>');
  return lines.join('');
}

function parameterText(name: string, fields: JsonTree): string {
  const entries = isEntries(fields) ? fields : new Map<string, JsonTree>();
  const type = entries.get('type');
  const description = entries.get('description');
  return [
    `\n<parameter>\n<name>${name}</name>`,
    type === undefined ? '' : `\n<type>${str(type)}</type>`,
    description === undefined ? '' : `\n<description>${strip(str(description))}</description>`,
    extraText(entries, ['name', 'type', 'description']),
    '\n</parameter>',
  ].join('');
}

function extraText(entries: JsonEntries, handled: readonly string[]): string {
  return [...entries]
    .filter(([key]) => !handled.includes(key))
    .map(([key, value]) => `\n<${key}>${valueText(value)}</${key}>`)
    .join('');
}

/** Lists and objects as JSON; everything else as Python prints it. */
function valueText(value: JsonTree): string {
  return isEntries(value) || Array.isArray(value) ? dumps(value) : str(value);
}
