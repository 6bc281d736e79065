import {
  answerOf,
  callMadeBy,
  isToolItem,
  type InputPart,
  type Item,
  type MessageItem,
  type MessagePart,
  type ResponseRequest,
  type ToolOutputItem,
} from '@turnpike/protocol';
import type { ItemKind } from './categories.js';
import { toolItemTexts } from './tool-item-texts.js';
import { addJsonText, addText, collectJson, JSON_FIELDS, type VisibleText } from './visible-text.js';

/** Fields of items and tools that no format shows, or that name something else. */
const NEVER_SHOWN: ReadonlySet<string> = new Set([
  'type',
  'id',
  'call_id',
  'approval_request_id',
  'status',
  'role',
  'phase',
  'execution',
  'encrypted_content',
  'image_url',
  'file_id',
  'detail',
  'annotations',
  'logprobs',
  'authorization',
  'headers',
]);

/**
 * Every text of an item that some format may show to a model, in order: this is what safety reads. More than a format
 * shows does no harm; less would be a way past it. What a sealed item stands for comes as items of its own.
 */
export function itemTexts(item: Item): VisibleText[] {
  const texts: VisibleText[] = [];
  // Servers that take messages, and templates, are given the ids that pair calls and outputs.
  const id = callMadeBy(item)?.id ?? answerOf(item)?.id;
  if (id !== undefined) texts.push({ kind: kindOf(item), text: id, path: '.call_id', apart: true });
  if (item.type === 'message') messageTexts(item, texts);
  else if (isPartsOutput(item)) partTexts(item.output, 'tool_output', '.output', texts);
  else if (isToolItem(item)) toolItemTexts(item, kindOf(item), texts);
  else if (item.type !== 'compaction') collect(item, kindOf(item), '', texts);
  return texts;
}

type PartsOutput = ToolOutputItem & { output: InputPart[] };

function isPartsOutput(item: Item): item is PartsOutput {
  const isOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
  return isOutput && typeof item.output !== 'string';
}

/** Every text of what stands before the items: instructions, tools, and the format of the answer. */
export function headTexts({
  instructions,
  tools,
  text,
}: Pick<ResponseRequest, 'instructions' | 'tools' | 'text'>): VisibleText[] {
  const texts: VisibleText[] = [];
  if (instructions !== undefined) addText(instructions, 'instructions', 'instructions', texts);
  tools.forEach((tool, index) => collect(tool, 'tools', `tools[${index}]`, texts));
  collect(text.format, 'instructions', 'text.format', texts);
  return texts;
}

function messageTexts({ role, content }: MessageItem, texts: VisibleText[]): void {
  const kind = role === 'user' || role === 'assistant' ? role : 'developer';
  partTexts(content, kind, '.content', texts);
}

function partTexts(parts: readonly MessagePart[], kind: ItemKind, path: string, texts: VisibleText[]): void {
  parts.forEach((part, index) => {
    const at = `${path}[${index}]`;
    switch (part.type) {
      case 'input_text':
      case 'output_text':
        return addText(part.text, kind, `${at}.text`, texts);
      case 'refusal':
        return addText(part.refusal, kind, `${at}.refusal`, texts);
      case 'input_file': {
        if (part.filename !== undefined) addText(part.filename, kind, `${at}.filename`, texts);
        if (part.file_url !== undefined) addText(part.file_url, kind, `${at}.file_url`, texts);
        if (part.file_data !== undefined) addText(fileText(part.file_data), kind, `${at}.file_data`, texts);
        return;
      }
      case 'input_image':
        return;
    }
  });
}

/** Bytes of a file that are read to see whether it is text. */
const SAMPLE = 4_096;

/** The text of a file in a data: URL or in base64; '' for one that is not text. */
function fileText(data: string): string {
  const comma = data.startsWith('data:') ? data.indexOf(',') : -1;
  const isBase64 = comma === -1 || /;base64$/i.test(data.slice(0, comma));
  const body = data.slice(comma + 1);
  const bytes = isBase64 ? Buffer.from(body, 'base64') : Buffer.from(body);
  return bytes.subarray(0, SAMPLE).includes(0) ? '' : bytes.toString('utf8');
}

const KINDS: Readonly<Partial<Record<Item['type'], ItemKind>>> = {
  reasoning: 'reasoning',
  function_call: 'tool_call',
  custom_tool_call: 'tool_call',
  tool_search_call: 'tool_call',
  shell_call: 'tool_call',
  local_shell_call: 'tool_call',
  apply_patch_call: 'tool_call',
  computer_call: 'tool_call',
  multi_agent_call: 'tool_call',
  mcp_approval_request: 'tool_call',
  mcp_approval_response: 'user',
  program: 'tool_call',
  additional_tools: 'tools',
  tool_search_output: 'tools',
  configuration_update: 'instructions',
};

/** What tools brought back, and everything that was said by neither side. */
function kindOf({ type }: Item): ItemKind {
  return KINDS[type] ?? 'tool_output';
}

/** All texts below a value, without the names of their fields. */
function collect(value: unknown, kind: ItemKind, path: string, texts: VisibleText[]): void {
  if (typeof value === 'string') addText(value, kind, path, texts);
  else if (Array.isArray(value))
    value.forEach((each, index) => collect(each, kind, `${path}[${index}]`, texts));
  else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      if (NEVER_SHOWN.has(key)) continue;
      const at = `${path}.${key}`;
      if (JSON_FIELDS.has(key) && typeof each === 'object') collectJson(each, kind, at, texts);
      else if (key === 'arguments' && typeof each === 'string') addJsonText(each, kind, at, texts);
      else collect(each, kind, at, texts);
    }
  }
}
