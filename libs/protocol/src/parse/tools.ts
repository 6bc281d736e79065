import { z } from 'zod';
import type { HostedTool, NamespaceTool, Tool } from '../items.js';
import {
  isAbsent,
  isObject,
  missing,
  optional,
  parseField,
  wrongType,
  wrongValue,
  invalid,
} from './fields.js';
import { keepParametersTexts, toolsTextOf } from './tools-text.js';

const name = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9_.-]+$/, "may hold letters, digits, '_', '-' and '.' only");
/** Fields that change nothing here, kept as they are. */
const kept = {
  async: optional(z.unknown()),
  allowed_callers: optional(z.unknown()),
  output_schema: optional(z.unknown()),
};
const parameters = optional(z.record(z.string(), z.unknown()));
const functionTool = z.object({
  type: z.literal('function'),
  name,
  description: optional(z.string()),
  parameters,
  strict: optional(z.boolean()),
  defer_loading: optional(z.boolean()),
  ...kept,
});
const customTool = z.object({
  type: z.literal('custom'),
  name,
  description: optional(z.string()),
  format: optional(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: z.string() }),
    ]),
  ),
  defer_loading: optional(z.boolean()),
  ...kept,
});
const namespaceTool = z.object({
  type: z.literal('namespace'),
  name,
  description: optional(z.string()),
  defer_loading: optional(z.boolean()),
});
const toolSearchTool = z.object({
  type: z.literal('tool_search'),
  execution: optional(z.enum(['server', 'client'])),
  description: optional(z.string()),
  parameters,
});

/** Tools that have a parser; any other is accepted as it is. */
const MEMBERS = { function: functionTool, custom: customTool };
const TOOLS = { ...MEMBERS, tool_search: toolSearchTool };

export interface ToolList {
  tools: Tool[];
  /** JSON text of the list as sent. */
  key: string;
}

/** Characters of tool lists remembered by this process. */
const REMEMBERED_CHARACTERS = 16 * 1024 * 1024;
const remembered = new Map<string, Tool[]>();
let rememberedCharacters = 0;
let listsValidated = 0;

/** Tool lists that had to be validated so far in this process, for tests that count work. */
export function toolListsValidated(): number {
  return listsValidated;
}

/**
 * The `tools` of a request. Agents send the same long list with every turn, so a list that was seen before costs a
 * look-up by its text, not a validation. A tool of a type this server does not host is accepted as it is.
 * @throws ApiError naming the tool and field
 */
export function parseTools(value: unknown, path: string): ToolList {
  if (isAbsent(value)) return { tools: [], key: '[]' };
  if (!Array.isArray(value)) throw wrongType(path, 'array', value);
  requireFewTools(value, path);
  const text = toolsTextOf(value);
  const key = text ?? JSON.stringify(value);
  const known = remembered.get(key);
  if (known !== undefined) {
    // Re-inserting moves the list to the young end of the map.
    remembered.delete(key);
    remembered.set(key, known);
    return { tools: known, key };
  }
  const tools = value.map((tool, index) => parseTool(tool, `${path}[${index}]`));
  if (text !== undefined) keepParametersTexts(tools, text);
  listsValidated++;
  remember(key, tools);
  return { tools, key };
}

/** More tools than any agent offers; each costs validation, rendering and a place in the prompt. */
export const MAX_TOOLS = 4_096;

/** @throws ApiError invalid_value for more tools, members of namespaces included, than {@link MAX_TOOLS} */
function requireFewTools(tools: readonly unknown[], path: string): void {
  const count = tools.reduce<number>((sum, tool) => sum + 1 + membersOf(tool), 0);
  if (count > MAX_TOOLS) throw invalid(path, `more than ${MAX_TOOLS} tools`);
}

function membersOf(tool: unknown): number {
  const members = typeof tool === 'object' && tool !== null && 'tools' in tool ? tool.tools : undefined;
  return Array.isArray(members) ? members.length : 0;
}

function parseTool(value: unknown, path: string): Tool {
  if (!isObject(value) || value['type'] !== 'namespace') return parseTyped(TOOLS, value, path);
  const fields = parseField(namespaceTool, value, path);
  const { tools } = value;
  if (isAbsent(tools)) throw missing(`${path}.tools`);
  if (!Array.isArray(tools)) throw wrongType(`${path}.tools`, 'array', tools);
  return { ...fields, tools: tools.map((tool, index) => parseMember(tool, `${path}.tools[${index}]`)) };
}

function parseMember(value: unknown, path: string): NamespaceTool['tools'][number] {
  if (isObject(value) && value['type'] === 'namespace') {
    throw wrongValue(`${path}.type`, 'namespace', Object.keys(MEMBERS));
  }
  return parseTyped(MEMBERS, value, path);
}

function parseTyped<S extends z.ZodType>(
  known: Readonly<Record<string, S>>,
  value: unknown,
  path: string,
): z.output<S> | HostedTool {
  if (!isObject(value)) throw wrongType(path, 'object', value);
  const { type } = value;
  if (isAbsent(type)) throw missing(`${path}.type`);
  if (typeof type !== 'string') throw wrongType(`${path}.type`, 'string', type);
  const schema = Object.hasOwn(known, type) ? known[type] : undefined;
  return schema === undefined ? { ...value, type } : parseField(schema, value, path);
}

function remember(key: string, tools: Tool[]): void {
  if (key.length > REMEMBERED_CHARACTERS / 4) return;
  remembered.set(key, tools);
  rememberedCharacters += key.length;
  for (const oldest of remembered.keys()) {
    if (rememberedCharacters <= REMEMBERED_CHARACTERS) break;
    remembered.delete(oldest);
    rememberedCharacters -= oldest.length;
  }
}
