import { z } from 'zod';
import { isAbsent, itemId, list, missing, optional, parseField } from './fields.js';

/**
 * Items of tools other than functions. What pairs them and what the model is shown of them is checked; everything else
 * is kept as it was sent, nulls included, so that lists and references give it back. Source of the shapes: the input
 * items of openai-node 7.59, its beta ones included.
 */
const item = { id: optional(itemId), status: optional(z.string()) };
const call_id = z.string().min(1);
const text = z.string().nullish();
const texts = list(z.string());
const object = z.looseObject({});

export const TOOL_ITEMS = {
  shell_call: z.looseObject({
    type: z.literal('shell_call'),
    ...item,
    call_id,
    action: z.looseObject({ commands: texts }),
  }),
  shell_call_output: z.looseObject({
    type: z.literal('shell_call_output'),
    ...item,
    call_id,
    output: list(
      z.looseObject({
        stdout: z.string(),
        stderr: z.string(),
        outcome: z.discriminatedUnion('type', [
          z.looseObject({ type: z.literal('exit'), exit_code: z.int() }),
          z.looseObject({ type: z.literal('timeout') }),
        ]),
      }),
    ),
  }),
  local_shell_call: z.looseObject({
    type: z.literal('local_shell_call'),
    ...item,
    call_id,
    action: z.looseObject({ command: texts }),
  }),
  local_shell_call_output: z.looseObject({
    type: z.literal('local_shell_call_output'),
    ...item,
    call_id,
    output: z.string(),
  }),
  apply_patch_call: z.looseObject({
    type: z.literal('apply_patch_call'),
    ...item,
    call_id,
    operation: z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('create_file'), path: z.string(), diff: z.string() }),
      z.looseObject({ type: z.literal('update_file'), path: z.string(), diff: z.string() }),
      z.looseObject({ type: z.literal('delete_file'), path: z.string() }),
    ]),
  }),
  apply_patch_call_output: z.looseObject({
    type: z.literal('apply_patch_call_output'),
    ...item,
    call_id,
    output: text,
  }),
  computer_call: z.looseObject({
    type: z.literal('computer_call'),
    ...item,
    call_id,
    action: object.nullish(),
    actions: list(object).nullish(),
  }),
  computer_call_output: z.looseObject({
    type: z.literal('computer_call_output'),
    ...item,
    call_id,
    output: z.looseObject({ type: z.string(), image_url: text, file_id: text }),
  }),
  web_search_call: z.looseObject({
    type: z.literal('web_search_call'),
    ...item,
    action: z
      .looseObject({ type: text, query: text, queries: texts.nullish(), url: text, pattern: text })
      .nullish(),
    results: list(object).nullish(),
  }),
  file_search_call: z.looseObject({
    type: z.literal('file_search_call'),
    ...item,
    queries: texts.nullish(),
    results: list(object).nullish(),
  }),
  code_interpreter_call: z.looseObject({
    type: z.literal('code_interpreter_call'),
    ...item,
    code: text,
    outputs: list(z.looseObject({ type: z.string(), logs: text })).nullish(),
  }),
  image_generation_call: z.looseObject({
    type: z.literal('image_generation_call'),
    ...item,
    result: text,
    revised_prompt: text,
  }),
  mcp_list_tools: z.looseObject({
    type: z.literal('mcp_list_tools'),
    ...item,
    server_label: z.string(),
    tools: list(object).nullish(),
  }),
  mcp_call: z.looseObject({
    type: z.literal('mcp_call'),
    ...item,
    server_label: z.string(),
    name: z.string().min(1),
    arguments: z.string(),
    output: text,
    error: z.unknown().optional(),
  }),
  mcp_approval_request: z.looseObject({
    type: z.literal('mcp_approval_request'),
    ...item,
    /** What the response refers to. */
    id: itemId,
    server_label: z.string(),
    name: z.string().min(1),
    arguments: z.string(),
  }),
  mcp_approval_response: z.looseObject({
    type: z.literal('mcp_approval_response'),
    ...item,
    approval_request_id: z.string().min(1),
    approve: z.boolean(),
    reason: text,
  }),
  program: z.looseObject({ type: z.literal('program'), ...item, call_id, code: z.string() }),
  program_output: z.looseObject({ type: z.literal('program_output'), ...item, call_id, result: z.string() }),
  agent_message: z.looseObject({
    type: z.literal('agent_message'),
    ...item,
    author: z.string(),
    recipient: z.string(),
    content: list(z.looseObject({ type: z.string(), text })),
  }),
  multi_agent_call: z.looseObject({
    type: z.literal('multi_agent_call'),
    ...item,
    call_id,
    action: z.string().min(1),
    arguments: z.string(),
  }),
  multi_agent_call_output: z.looseObject({
    type: z.literal('multi_agent_call_output'),
    ...item,
    call_id,
    output: list(z.looseObject({ type: z.string(), text })),
  }),
};

export type ToolItemType = keyof typeof TOOL_ITEMS;

/** The fields that are known, without "and anything else". */
type Known<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

/** An item of a tool other than functions, with the fields that this server looks at; the others are there as sent. */
export type ToolItem = { [T in ToolItemType]: Known<z.output<(typeof TOOL_ITEMS)[T]>> }[ToolItemType];

export const TOOL_ITEM_TYPES = Object.keys(TOOL_ITEMS) as ToolItemType[];

const SILENT_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'id',
  'call_id',
  'status',
  'result',
  'image_url',
  'file_data',
]);

/**
 * Whether a field of such an item, at any depth, says nothing to a model or holds binary data. No format shows those as they
 * are. What a program gave is a text; the result of a generated image is the image.
 */
export function isSilentField(item: ToolItem, field: string): boolean {
  return SILENT_FIELDS.has(field) && !(field === 'result' && item.type === 'program_output');
}

export function isToolItem(item: { readonly type: string }): item is ToolItem {
  return Object.hasOwn(TOOL_ITEMS, item.type);
}

/**
 * One item of such a tool: as it was sent, to the order of its fields, but without an id or a status that is null.
 * @throws ApiError naming the field under `path`
 */
export function parseToolItem(type: ToolItemType, value: Record<string, unknown>, path: string): ToolItem {
  const given = type === 'local_shell_call_output' ? withCallId(value, path) : value;
  parseField(TOOL_ITEMS[type], given, path);
  const fields = Object.entries(given).filter(([key, entry]) => entry !== null || !(key in item));
  return Object.fromEntries(fields) as ToolItem;
}

/** The declared type of a local shell's output has no `call_id`: its `id` is that of the call. */
function withCallId(value: Record<string, unknown>, path: string): Record<string, unknown> {
  const { call_id, id } = value;
  if (!isAbsent(call_id)) return value;
  if (isAbsent(id)) throw missing(`${path}.call_id`);
  return { ...value, call_id: id };
}
