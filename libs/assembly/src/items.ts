import { mintId, type SampledItem } from '@turnpike/protocol';
import type { OutputHeader } from '@turnpike/formats';
import { searchArguments } from './search-arguments.js';

/** The wire events that carry one kind of item's text. */
export interface TextEvents {
  delta:
    | 'response.output_text.delta'
    | 'response.reasoning_text.delta'
    | 'response.function_call_arguments.delta'
    | 'response.custom_tool_call_input.delta';
  done:
    | 'response.output_text.done'
    | 'response.reasoning_text.done'
    | 'response.function_call_arguments.done'
    | 'response.custom_tool_call_input.done';
  /** Name of the field that holds the whole text in the done event. */
  field: 'text' | 'arguments' | 'input';
  /** Type of the content part the text stands in, for items that have parts. */
  part?: 'output_text' | 'reasoning_text';
  /** Text events of message parts carry `logprobs` too. */
  logprobs: boolean;
}

/** How the text of each kind of item is streamed; one that has no events for it is shown when it is done. */
export const TEXT_EVENTS: Record<SampledItem['type'], TextEvents | undefined> = {
  message: {
    delta: 'response.output_text.delta',
    done: 'response.output_text.done',
    field: 'text',
    part: 'output_text',
    logprobs: true,
  },
  reasoning: {
    delta: 'response.reasoning_text.delta',
    done: 'response.reasoning_text.done',
    field: 'text',
    part: 'reasoning_text',
    logprobs: false,
  },
  function_call: {
    delta: 'response.function_call_arguments.delta',
    done: 'response.function_call_arguments.done',
    field: 'arguments',
    logprobs: false,
  },
  custom_tool_call: {
    delta: 'response.custom_tool_call_input.delta',
    done: 'response.custom_tool_call_input.done',
    field: 'input',
    logprobs: false,
  },
  tool_search_call: undefined,
};

/** An item as `output_item.added` shows it: its ids are final, its content is still empty. */
export function openItem(header: OutputHeader): SampledItem & { id: string } {
  const id = mintId(header.type);
  switch (header.type) {
    case 'message':
      return {
        type: 'message',
        id,
        role: 'assistant',
        status: 'in_progress',
        content: [],
        phase: header.phase,
      };
    case 'reasoning':
      return { type: 'reasoning', id, summary: [], content: [], status: 'in_progress' };
    case 'function_call':
      return {
        type: 'function_call',
        id,
        call_id: mintId('call'),
        ...nameOf(header),
        arguments: '',
        status: 'in_progress',
      };
    case 'custom_tool_call':
      return {
        type: 'custom_tool_call',
        id,
        call_id: mintId('call'),
        ...nameOf(header),
        input: '',
        status: 'in_progress',
      };
    case 'tool_search_call':
      return {
        type: 'tool_search_call',
        id,
        call_id: mintId('call'),
        execution: 'client',
        arguments: {},
        status: 'in_progress',
      };
  }
}

/** The item with its text, as `output_item.done` and the final response show it. */
export function closeItem<T extends SampledItem>(item: T, text: string, complete: boolean): T {
  const status = complete ? 'completed' : 'incomplete';
  switch (item.type) {
    case 'message':
      return { ...item, status, content: [contentPart('output_text', text)] };
    case 'reasoning':
      return { ...item, status, content: [contentPart('reasoning_text', text)] };
    case 'function_call':
      return { ...item, status, arguments: text };
    case 'custom_tool_call':
      return { ...item, status, input: text };
    case 'tool_search_call':
      return { ...item, status, arguments: searchArguments(text) };
  }
}

/** A content part with its text. */
export function contentPart(type: 'output_text' | 'reasoning_text', text: string) {
  return type === 'output_text' ? { type, text, annotations: [], logprobs: [] } : { type, text };
}

function nameOf(header: { name: string; namespace?: string | undefined }) {
  return header.namespace === undefined
    ? { name: header.name }
    : { name: header.name, namespace: header.namespace };
}
