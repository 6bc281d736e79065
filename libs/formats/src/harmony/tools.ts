import { TOOL_SEARCH, type CustomTool, type Tool } from '@turnpike/protocol';
import { type CallHeader } from '../format.js';
import { parametersTree } from '../tools/declarations.js';
import { FUNCTIONS, namespacesOf, type Declared, type Namespace } from '../tools/namespaces.js';
import { schemaType } from './schema-type.js';

/** The "# Tools" section for these namespaces, laid out as the openai/harmony library does. */
export function toolsSection(namespaces: readonly Namespace[]): string {
  return ['# Tools', ...namespaces.map(namespaceText)].join('\n\n');
}

function namespaceText({ name, description, tools }: Namespace): string {
  return [
    `## ${name}\n`,
    ...comments(description),
    `namespace ${name} {\n`,
    ...tools.flatMap(toolLines),
    `} // namespace ${name}`,
  ].join('\n');
}

function toolLines(tool: Declared): string[] {
  return [
    ...comments(tool.description),
    ...(tool.type === 'custom' ? customLines(tool) : [functionLine(tool)]),
  ];
}

function functionLine({ name, parameters }: Exclude<Declared, CustomTool>): string {
  return `type ${name} = (${parameters === undefined ? '' : `_: ${schemaType(parametersTree(parameters))}`}) => any;\n`;
}

/** Harmony has no notation for free text, so a comment says it. */
function customLines({ name, format }: CustomTool): string[] {
  const grammar = format?.type === 'grammar' ? format : undefined;
  const intro =
    grammar?.syntax === 'lark' ? 'It follows this Lark grammar:' : 'It matches this regular expression:';
  return [
    '// The input is free text, not JSON.',
    ...(grammar === undefined ? [] : [`// ${intro}`, ...comments(grammar.definition)]),
    `type ${name} = (_: string) => any;\n`,
  ];
}

function comments(text: string | undefined): string[] {
  if (text === undefined) return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop(); // a line break ends a line, it does not begin one
  return lines.map((line) => `// ${line}`);
}

/**
 * Finds the tool behind a recipient. `functions.X`, and `N.X` for a declared namespace N, are calls whether or not
 * X is declared: the client can answer a wrong name, and the model then sees its mistake. A bare X is one when it is
 * declared. Names are matched exactly and may hold dots and hyphens.
 */
export function recipientResolver(tools: readonly Tool[]): (recipient: string) => CallHeader | undefined {
  const namespaces = namespacesOf(tools);
  const declared = new Map<string, CallHeader>();
  for (const namespace of namespaces) {
    for (const { type, name } of namespace.tools) {
      const header = callHeader(type, namespace.name, name);
      const recipients =
        namespace.name === FUNCTIONS ? [`${FUNCTIONS}.${name}`, name] : [`${namespace.name}.${name}`];
      // Of tools with one name the first counts.
      for (const recipient of recipients) if (!declared.has(recipient)) declared.set(recipient, header);
    }
  }
  // Of namespaces `a` and `a.b` the longer one owns `a.b.X`.
  const prefixes = [...new Set([FUNCTIONS, ...namespaces.map(({ name }) => name)])].sort(
    (a, b) => b.length - a.length,
  );
  return (recipient) => {
    const known = declared.get(recipient) ?? declared.get(plainRecipient(recipient));
    if (known !== undefined) return known;
    const owner = prefixes.find(
      (name) => recipient.startsWith(`${name}.`) && recipient.length > name.length + 1,
    );
    return owner === undefined ? undefined : callHeader('function', owner, recipient.slice(owner.length + 1));
  };
}

/** A recipient without what models put around names: quotes, signs behind them, and the namespace twice. */
function plainRecipient(recipient: string): string {
  return recipient
    .replace(/^["'`]+|["'`.:;,>]+$/g, '')
    .replace(new RegExp(`^(?:${FUNCTIONS}\\.)+`), `${FUNCTIONS}.`);
}

function callHeader(kind: Declared['type'], namespace: string, name: string): CallHeader {
  if (kind === TOOL_SEARCH) return { type: 'tool_search_call', name };
  const type = kind === 'custom' ? 'custom_tool_call' : 'function_call';
  return namespace === FUNCTIONS ? { type, name } : { type, name, namespace };
}
