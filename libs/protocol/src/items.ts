/**
 * Conversation items in their canonical form.
 *
 * The wire lets one thing be written in many ways (a message without `type`, content as a string, explicit nulls).
 * Parsing settles that once, at the edge: behind it every message has a `type` and a list of parts, and what was
 * null is absent. Everything that is hashed, rendered, classified or stored sees this one form.
 */
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

export type ToolCallItem = FunctionCallItem | CustomToolCallItem;
export type ToolOutputItem = FunctionCallOutputItem | CustomToolCallOutputItem;
export type Item = MessageItem | ReasoningItem | ToolCallItem | ToolOutputItem | AdditionalToolsItem;
/** What a model can produce. */
export type OutputItem = MessageItem | ReasoningItem | ToolCallItem;

export interface FunctionTool {
  type: 'function';
  name: string;
  description?: string | undefined;
  /** JSON Schema of the arguments, keys in the client's order. */
  parameters?: Record<string, unknown> | undefined;
  strict?: boolean | undefined;
}
export interface CustomTool {
  type: 'custom';
  name: string;
  description?: string | undefined;
  format?: { type: 'text' } | { type: 'grammar'; syntax: 'lark' | 'regex'; definition: string } | undefined;
}
export interface NamespaceTool {
  type: 'namespace';
  name: string;
  description?: string | undefined;
  tools: (FunctionTool | CustomTool)[];
}
/** A tool this server does not host: accepted, and never offered to the model. */
export interface HostedTool {
  type: string;
  [field: string]: unknown;
}
export type ClientTool = FunctionTool | CustomTool | NamespaceTool;
export type Tool = ClientTool | HostedTool;

/** Text of a tool output: its text parts joined with nothing between them. */
export function toolOutputText(output: ToolOutputItem['output']): string {
  if (typeof output === 'string') return output;
  return output.map((part) => (part.type === 'input_text' ? part.text : '')).join('');
}
