import type { Item } from './items.js';
import { TOOL_SEARCH } from './tools.js';

/** Items that another item answers: how errors speak of them, and whether the client has to answer before the model goes on. */
export const CALLS = {
  function_call: { spoken: 'function call', waits: true },
  custom_tool_call: { spoken: 'custom tool call', waits: true },
  tool_search_call: { spoken: 'tool search call', waits: true },
  shell_call: { spoken: 'shell call', waits: true },
  local_shell_call: { spoken: 'local shell call', waits: true },
  apply_patch_call: { spoken: 'apply patch call', waits: true },
  computer_call: { spoken: 'computer call', waits: true },
  // What a server ran or asked for may have been cut off there, and no client can make up for it.
  multi_agent_call: { spoken: 'multi-agent call', waits: false },
  program: { spoken: 'program', waits: false },
  mcp_approval_request: { spoken: 'MCP approval request', waits: false },
} as const satisfies { readonly [T in Item['type']]?: { readonly spoken: string; readonly waits: boolean } };

/** The calls that each kind of answer may be to. */
const ANSWERS = {
  // Codex answers a local shell call with the output of a function.
  function_call_output: ['function_call', 'local_shell_call'],
  custom_tool_call_output: ['custom_tool_call'],
  tool_search_output: ['tool_search_call'],
  shell_call_output: ['shell_call'],
  local_shell_call_output: ['local_shell_call'],
  apply_patch_call_output: ['apply_patch_call'],
  computer_call_output: ['computer_call'],
  multi_agent_call_output: ['multi_agent_call'],
  program_output: ['program'],
  mcp_approval_response: ['mcp_approval_request'],
} as const satisfies { readonly [T in Item['type']]?: readonly [PairedCallType, ...PairedCallType[]] };

export type PairedCallType = keyof typeof CALLS;
type CallItem = Extract<Item, { type: PairedCallType }>;
type AnswerItem = Extract<Item, { type: keyof typeof ANSWERS }>;

/** The tool behind a call. */
export interface CalledTool {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** A call that its output finds by an id. */
export interface PairedCall extends CalledTool {
  readonly type: PairedCallType;
  /** Its `call_id`, or what takes its place. */
  readonly id: string;
}

/** Which call an item answers: its id, and the types it may have. */
export interface Answer {
  readonly types: readonly [PairedCallType, ...PairedCallType[]];
  readonly id: string;
}

/** The call that an item makes and another one answers. One that was cut short is none: nobody was to answer it. */
export function callMadeBy(item: Item): PairedCall | undefined {
  if (!isCall(item) || item.status === 'incomplete') return undefined;
  const id = callIdOf(item);
  // A search without an id was the server's, which answered it by itself.
  return id === null ? undefined : { type: item.type, id, ...toolOf(item) };
}

/**
 * Items that a client brings together, in which a call that was cut short and has its output all the same counts as made:
 * agents answer any call that they were given, if only to say that its arguments could not be read.
 */
export function withAnsweredCalls(items: Item[]): Item[] {
  if (!items.some((item) => isCall(item) && item.status === 'incomplete')) return items;
  /** Types that the call before an output may have, by its id. */
  const answered = new Map<string, readonly PairedCallType[]>();
  return items
    .toReversed()
    .map((item): Item => {
      const answer = answerOf(item);
      if (answer !== undefined) answered.set(answer.id, answer.types);
      const id = isCall(item) ? callIdOf(item) : null;
      if (!isCall(item) || id === null || answered.get(id)?.includes(item.type) !== true) return item;
      // An output answers one call: the last of its id.
      answered.delete(id);
      return item.status === 'incomplete' ? { ...item, status: undefined } : item;
    })
    .reverse();
}

function callIdOf(item: CallItem): string | null {
  return item.type === 'mcp_approval_request' ? item.id : item.call_id;
}

/** The call that an item answers; undefined for items that answer none. */
export function answerOf(item: Item): Answer | undefined {
  if (!isAnswer(item)) return undefined;
  const id = item.type === 'mcp_approval_response' ? item.approval_request_id : item.call_id;
  return id === null ? undefined : { types: ANSWERS[item.type], id };
}

function isCall(item: Item): item is CallItem {
  return item.type in CALLS;
}

function isAnswer(item: Item): item is AnswerItem {
  return item.type in ANSWERS;
}

function toolOf(item: CallItem): CalledTool {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
      return { name: item.name, namespace: item.namespace };
    case 'mcp_approval_request':
      return { name: item.name, namespace: item.server_label };
    case 'multi_agent_call':
      return { name: item.action, namespace: 'multi_agent' };
    case 'tool_search_call':
      return { name: TOOL_SEARCH };
    case 'shell_call':
      return { name: 'shell' };
    case 'local_shell_call':
      return { name: 'local_shell' };
    case 'apply_patch_call':
      return { name: 'apply_patch' };
    case 'computer_call':
      return { name: 'computer' };
    case 'program':
      return { name: 'program' };
  }
}
