/**
 * Conversation items in their canonical form.
 *
 * The wire lets one thing be written in many ways (a message without `type`, content as a string, explicit nulls).
 * Parsing settles that once, at the edge: behind it every message has a `type` and a list of parts, and what was
 * null is absent. Everything that is hashed, rendered, classified or stored sees this one form.
 */
import type { ToolItem } from './parse/tool-items.js';
import type { ReasoningEffort, TextFormat } from './settings.js';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';
export type Role = 'user' | 'assistant' | 'system' | 'developer';

/** Which part of an answer a message is: a note on the way, or the answer itself. */
export type MessagePhase = 'commentary' | 'final_answer';

export interface InputTextPart {
  type: 'input_text';
  text: string;
}
export interface OutputTextPart {
  type: 'output_text';
  text: string;
  annotations: unknown[];
  logprobs: unknown[];
}
export interface RefusalPart {
  type: 'refusal';
  refusal: string;
}
/** How closely a model is to look at an image; `auto` leaves it to the model. */
export type ImageDetail = 'low' | 'high' | 'original' | 'auto';

export interface InputImagePart {
  type: 'input_image';
  image_url?: string | undefined;
  file_id?: string | undefined;
  detail?: ImageDetail | undefined;
}
export interface InputFilePart {
  type: 'input_file';
  file_id?: string | undefined;
  file_url?: string | undefined;
  file_data?: string | undefined;
  filename?: string | undefined;
}
export type InputPart = InputTextPart | InputImagePart | InputFilePart;
export type MessagePart = InputPart | OutputTextPart | RefusalPart;

export interface MessageItem {
  type: 'message';
  id?: string | undefined;
  role: Role;
  status?: ItemStatus | undefined;
  content: MessagePart[];
  phase?: MessagePhase | undefined;
}

export interface ReasoningItem {
  type: 'reasoning';
  id?: string | undefined;
  summary: { type: 'summary_text'; text: string }[];
  content?: { type: 'reasoning_text'; text: string }[] | undefined;
  encrypted_content?: string | undefined;
  status?: ItemStatus | undefined;
}

export interface FunctionCallItem {
  type: 'function_call';
  id?: string | undefined;
  call_id: string;
  name: string;
  /** Set when the tool was declared inside a namespace; `name` stays the bare name. */
  namespace?: string | undefined;
  /** JSON text exactly as the model wrote it. */
  arguments: string;
  status?: ItemStatus | undefined;
}

export interface FunctionCallOutputItem {
  type: 'function_call_output';
  id?: string | undefined;
  call_id: string;
  output: string | InputPart[];
  status?: ItemStatus | undefined;
}

export interface CustomToolCallItem {
  type: 'custom_tool_call';
  id?: string | undefined;
  call_id: string;
  name: string;
  namespace?: string | undefined;
  /** Free text exactly as the model wrote it. */
  input: string;
  status?: ItemStatus | undefined;
}

export interface CustomToolCallOutputItem {
  type: 'custom_tool_call_output';
  id?: string | undefined;
  call_id: string;
  output: string | InputPart[];
  status?: ItemStatus | undefined;
}

/** Tools that join the conversation as an item, and so stay for the rest of the chain. */
export interface AdditionalToolsItem {
  type: 'additional_tools';
  id?: string | undefined;
  role: 'developer';
  tools: Tool[];
}

/** A search for tools that are not in the prompt yet. */
export interface ToolSearchCallItem {
  type: 'tool_search_call';
  id?: string | undefined;
  /** Null for a search that a server ran. */
  call_id: string | null;
  execution: 'server' | 'client';
  /** A JSON object; text where a model wrote something else. */
  arguments: unknown;
  status?: ItemStatus | undefined;
}

/** What a search found: these tools join the conversation, and stay for the rest of the chain. */
export interface ToolSearchOutputItem {
  type: 'tool_search_output';
  id?: string | undefined;
  call_id: string | null;
  execution: 'server' | 'client';
  status?: ItemStatus | undefined;
  tools: Tool[];
}

/** Settings that hold from here on, until the next item of this type. */
export interface ConfigurationUpdateItem {
  type: 'configuration_update';
  id?: string | undefined;
  reasoning?: { effort?: ReasoningEffort | undefined } | undefined;
  text?: { format?: TextFormat | undefined } | undefined;
}

/** Stands for a part of the conversation that was summarised; what it says is sealed, and only its server can read it. */
export interface CompactionItem {
  type: 'compaction';
  id?: string | undefined;
  encrypted_content: string;
}

export type { ToolItem } from './parse/tool-items.js';
export type ToolCallItem = FunctionCallItem | CustomToolCallItem;
export type ToolOutputItem = FunctionCallOutputItem | CustomToolCallOutputItem;
export type ToolSearchItem = ToolSearchCallItem | ToolSearchOutputItem;
export type Item =
  | MessageItem
  | ReasoningItem
  | ToolCallItem
  | ToolOutputItem
  | AdditionalToolsItem
  | ToolSearchItem
  | ConfigurationUpdateItem
  | CompactionItem
  | ToolItem;
/** What a model can produce. */
export type SampledItem = MessageItem | ReasoningItem | ToolCallItem | ToolSearchCallItem;
/** What the output of a response can hold. */
export type OutputItem = SampledItem | CompactionItem;

export interface FunctionTool {
  type: 'function';
  name: string;
  description?: string | undefined;
  /** JSON Schema of the arguments, keys in the client's order. */
  parameters?: Record<string, unknown> | undefined;
  strict?: boolean | undefined;
  /** Whether the tool is to be searched for before the model sees it. */
  defer_loading?: boolean | undefined;
}
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string | undefined;
  defer_loading?: boolean | undefined;
  format?: { type: 'text' } | { type: 'grammar'; syntax: 'lark' | 'regex'; definition: string } | undefined;
}
export interface NamespaceTool {
  type: 'namespace';
  name: string;
  description?: string | undefined;
  /** Tools of other types may be among them, and are never offered. */
  tools: (FunctionTool | CustomTool | HostedTool)[];
  defer_loading?: boolean | undefined;
}
/** Search for tools that are not in the prompt: by the client, which is then called like a function; or by the server. */
export interface ToolSearchTool {
  type: 'tool_search';
  /** `server` where it is not said. */
  execution?: 'server' | 'client' | undefined;
  description?: string | undefined;
  /** JSON Schema of the arguments of a search by the client. */
  parameters?: Record<string, unknown> | undefined;
}
/** A tool this server does not host: accepted, and never offered to the model. */
export interface HostedTool {
  type: string;
  [field: string]: unknown;
}
export type ClientTool = FunctionTool | CustomTool | NamespaceTool;
export type Tool = ClientTool | ToolSearchTool | HostedTool;

const OUTPUT_TYPES: ReadonlySet<Item['type']> = new Set<OutputItem['type']>([
  'message',
  'reasoning',
  'function_call',
  'custom_tool_call',
  'tool_search_call',
  'compaction',
]);

/** Whether an item can stand in the output of a response. */
export function isOutputItem(item: Item): item is OutputItem {
  return OUTPUT_TYPES.has(item.type) && (item.type !== 'message' || item.role === 'assistant');
}

/** Text of a tool output: its text parts joined with nothing between them. */
export function toolOutputText(output: ToolOutputItem['output']): string {
  if (typeof output === 'string') return output;
  return output.map((part) => (part.type === 'input_text' ? part.text : '')).join('');
}
