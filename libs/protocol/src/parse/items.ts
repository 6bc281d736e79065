import { z } from 'zod';
import type { ConfigurationUpdateItem, Item, ToolItem, ToolOutputItem, ToolSearchItem } from '../items.js';
import {
  invalid,
  isAbsent,
  isObject,
  itemId,
  list,
  missing,
  optional,
  parseField,
  withDefault,
  wrongType,
  wrongValue,
} from './fields.js';
import { reasoningEffort, textFormat } from './settings.js';
import { parseToolItem, TOOL_ITEM_TYPES } from './tool-items.js';
import { parseTools } from './tools.js';

const id = optional(itemId);
const reference = z.object({ id: z.string() });
const status = optional(z.enum(['in_progress', 'completed', 'incomplete']));

const inputText = z.object({ type: z.literal('input_text'), text: z.string() });
const inputImage = z.object({
  type: z.literal('input_image'),
  image_url: optional(z.string()),
  file_id: optional(z.string()),
  detail: optional(z.enum(['low', 'high', 'original', 'auto'])),
});
const inputFile = z.object({
  type: z.literal('input_file'),
  file_id: optional(z.string()),
  file_url: optional(z.string()),
  file_data: optional(z.string()),
  filename: optional(z.string()),
});
const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: withDefault(z.array(z.unknown()), () => []),
  logprobs: withDefault(z.array(z.unknown()), () => []),
});
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() });

const inputPart = z.discriminatedUnion('type', [inputText, inputImage, inputFile]);
const messagePart = z.discriminatedUnion('type', [inputText, inputImage, inputFile, outputText, refusal]);

const message = z.object({
  type: z.literal('message'),
  id,
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  status,
  content: list(messagePart),
  phase: optional(z.enum(['commentary', 'final_answer'])),
});
const reasoning = z.object({
  type: z.literal('reasoning'),
  id,
  summary: withDefault(list(z.object({ type: z.literal('summary_text'), text: z.string() })), () => []),
  content: optional(list(z.object({ type: z.literal('reasoning_text'), text: z.string() }))),
  encrypted_content: optional(z.string()),
  status,
});
const callFields = { id, call_id: z.string().min(1), status };
const functionCall = z.object({
  type: z.literal('function_call'),
  ...callFields,
  name: z.string().min(1),
  namespace: optional(z.string()),
  arguments: z.string(),
});
const customToolCall = z.object({
  type: z.literal('custom_tool_call'),
  ...callFields,
  name: z.string().min(1),
  namespace: optional(z.string()),
  input: z.string(),
});
const compaction = z.object({ type: z.literal('compaction'), id, encrypted_content: z.string() });
const toolOutput = z.object(callFields);
const toolOutputParts = list(inputPart);
const toolSearch = z.object({
  id,
  call_id: optional(z.string().min(1)),
  execution: optional(z.enum(['server', 'client'])),
  status,
});
const configurationUpdate = z.looseObject({
  type: z.literal('configuration_update'),
  id,
  reasoning: optional(z.looseObject({ effort: optional(reasoningEffort) })),
  text: optional(z.looseObject({ format: optional(textFormat) })),
});

/** Parses one JSON object found at `path` of the request. */
type ItemParser = (value: Record<string, unknown>, path: string) => Item;

/** Items by type. Adding a type here is what makes it known. */
const ITEM_PARSERS: Record<Item['type'], ItemParser> = {
  message: (value, path) => parseField(message, withContentParts(value, path), path),
  reasoning: (value, path) => parseField(reasoning, value, path),
  function_call: (value, path) => parseField(functionCall, value, path),
  custom_tool_call: (value, path) => parseField(customToolCall, value, path),
  function_call_output: (value, path) => parseOutput('function_call_output', value, path),
  custom_tool_call_output: (value, path) => parseOutput('custom_tool_call_output', value, path),
  additional_tools: (value, path) => ({
    type: 'additional_tools',
    id: parseField(id, value['id'], `${path}.id`),
    role: 'developer',
    tools: parseTools(value['tools'], `${path}.tools`).tools,
  }),
  compaction: (value, path) => parseField(compaction, value, path),
  tool_search_call: parseToolSearchCall,
  tool_search_output: (value, path) => ({
    type: 'tool_search_output',
    ...parseToolSearch(value, path),
    tools: parseTools(value['tools'], `${path}.tools`).tools,
  }),
  configuration_update: (value, path): ConfigurationUpdateItem =>
    parseField(configurationUpdate, value, path),
  ...toolItemParsers(),
};

/** Types of items this server understands, in the order errors list them. */
export const ITEM_TYPES = Object.keys(ITEM_PARSERS) as Item['type'][];

/**
 * One input item in its canonical form. Unknown fields are dropped; an item with a `role` and no `type` is a message.
 * @throws ApiError naming the field under `path`
 */
export function parseItem(value: unknown, path: string): Item {
  if (!isObject(value)) throw wrongType(path, 'object', value);
  const type = value['type'] ?? (isAbsent(value['role']) ? undefined : 'message');
  if (type === undefined) throw missing(`${path}.type`);
  // One that has an id has been replaced by what it refers to.
  if (type === 'item_reference') parseField(reference, value, path);
  const parse =
    typeof type === 'string' && Object.hasOwn(ITEM_PARSERS, type)
      ? ITEM_PARSERS[type as Item['type']]
      : undefined;
  if (parse === undefined) throw wrongValue(`${path}.type`, type, ITEM_TYPES);
  return parse(value, path);
}

/**
 * The `input` of a request, item by item: a string is one user message.
 * @throws ApiError naming the item and field
 */
export function* inputItems(value: unknown, path: string): Generator<Item> {
  if (isAbsent(value)) return;
  if (typeof value === 'string') {
    yield { type: 'message', role: 'user', content: [{ type: 'input_text', text: value }] };
    return;
  }
  if (!Array.isArray(value)) throw wrongType(path, 'string or array', value);
  for (const [index, item] of value.entries()) {
    if (!isTrigger(item)) yield parseItem(item, `${path}[${index}]`);
    else if (index < value.length - 1)
      throw invalid(`${path}[${index}]`, "a 'compaction_trigger' has to be the last item");
  }
}

/** Whether an `input` asks for compaction. The trigger is a signal and no item: it is neither kept nor shown. */
export function endsWithTrigger(input: unknown): boolean {
  return Array.isArray(input) && isTrigger(input.at(-1));
}

function isTrigger(item: unknown): boolean {
  return isObject(item) && item['type'] === 'compaction_trigger';
}

/**
 * All items of an `input`.
 * @throws ApiError naming the item and field
 */
export function parseInput(value: unknown): Item[] {
  return [...inputItems(value, 'input')];
}

/** Content may be a string for every role; the part it becomes depends on who speaks. */
function withContentParts(value: Record<string, unknown>, path: string): Record<string, unknown> {
  const { content, role } = value;
  if (typeof content === 'string') {
    const part =
      role === 'assistant' ? { type: 'output_text', text: content } : { type: 'input_text', text: content };
    return { ...value, type: 'message', content: [part] };
  }
  if (!isAbsent(content) && !Array.isArray(content)) {
    throw wrongType(`${path}.content`, 'string or array', content);
  }
  return { ...value, type: 'message' };
}

function toolItemParsers(): Record<ToolItem['type'], ItemParser> {
  const parsers = TOOL_ITEM_TYPES.map((type): [ToolItem['type'], ItemParser] => [
    type,
    (value, path) => parseToolItem(type, value, path),
  ]);
  return Object.fromEntries(parsers) as Record<ToolItem['type'], ItemParser>;
}

/** A search with a `call_id` is the client's unless it says otherwise, and the client's cannot be without one. */
function parseToolSearch(value: Record<string, unknown>, path: string): Omit<ToolSearchItem, 'type'> {
  const fields = parseField(toolSearch, value, path);
  const { execution = fields.call_id === undefined ? 'server' : 'client' } = fields;
  if (execution === 'client' && fields.call_id === undefined) throw missing(`${path}.call_id`);
  return { ...fields, call_id: fields.call_id ?? null, execution };
}

function parseToolSearchCall(value: Record<string, unknown>, path: string): Item {
  const fields = parseToolSearch(value, path);
  const given = value['arguments'] ?? {};
  if (!isObject(given) && typeof given !== 'string') {
    throw wrongType(`${path}.arguments`, 'object or string', given);
  }
  return { type: 'tool_search_call', ...fields, arguments: given };
}

function parseOutput(type: ToolOutputItem['type'], value: Record<string, unknown>, path: string): Item {
  const fields = parseField(toolOutput, value, path);
  const { output } = value;
  if (isAbsent(output)) throw missing(`${path}.output`);
  if (typeof output === 'string') return { type, ...fields, output };
  if (!Array.isArray(output)) throw wrongType(`${path}.output`, 'string or array', output);
  return { type, ...fields, output: parseField(toolOutputParts, output, `${path}.output`) };
}
