import { parametersTextOf, type CustomTool, type Tool } from '@turnpike/protocol';
import { dumps, treeOf } from '../json/python-text.js';
import { readJson, type JsonTree } from '../json/json-text.js';
import { namespacesOf, qualifiedName, type Declared } from './namespaces.js';

/** A tool as families without namespaces and free-text tools know one: a function under one name. */
export interface FunctionDeclaration {
  readonly name: string;
  readonly description: string | undefined;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonTree;
}

const NO_PARAMETERS: JsonTree = new Map<string, JsonTree>([
  ['type', 'object'],
  ['properties', new Map()],
]);

/** The one parameter of a tool whose input is free text. */
const FREE_TEXT = 'input';
const FREE_TEXT_PARAMETERS = treeOf({
  type: 'object',
  properties: { [FREE_TEXT]: { type: 'string' } },
  required: [FREE_TEXT],
});

/** Everything that the model can call, in namespaces' order; hosted tools are left out. */
export function declarationsOf(tools: readonly Tool[]): FunctionDeclaration[] {
  return namespacesOf(tools).flatMap(({ name: namespace, tools: members }) =>
    members.map((tool) => ({
      name: qualifiedName({ name: tool.name, namespace }),
      description: tool.type === 'custom' ? freeTextDescription(tool) : tool.description,
      parameters: parametersOf(tool),
    })),
  );
}

/** As chat-completions requests declare it, which is what templates are given. */
export function chatTool({ name, description, parameters }: FunctionDeclaration): JsonTree {
  const known: [string, JsonTree][] = description === undefined ? [] : [['description', description]];
  const declared = new Map<string, JsonTree>([['name', name], ...known, ['parameters', parameters]]);
  return new Map<string, JsonTree>([
    ['type', 'function'],
    ['function', declared],
  ]);
}

/** Arguments of a call of a tool whose input is free text. */
export function freeTextArguments(input: string): string {
  return dumps(new Map([[FREE_TEXT, input]]));
}

function parametersOf(tool: Declared): JsonTree {
  if (tool.type === 'custom') return FREE_TEXT_PARAMETERS;
  return tool.parameters === undefined ? NO_PARAMETERS : parametersTree(tool.parameters);
}

/** Parameters with the numbers and in the order in which they were sent. */
export function parametersTree(parameters: object): JsonTree {
  const text = parametersTextOf(parameters);
  return (text === undefined ? undefined : readJson(text)) ?? treeOf(parameters);
}

function freeTextDescription({ description, format }: CustomTool): string {
  const lines = description === undefined ? [] : [description];
  if (format?.type === 'grammar') {
    const intro =
      format.syntax === 'lark'
        ? 'The input follows this Lark grammar:'
        : 'The input matches this regular expression:';
    lines.push(intro, format.definition);
  }
  return lines.length === 0 ? 'Takes free text.' : lines.join('\n');
}
