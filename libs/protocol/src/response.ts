import type { OutputItem } from './items.js';
import type { ResponseRequest } from './request.js';
import { shownFormat, shownTool, type ShownFormat, type ShownTool } from './shown.js';

/** Token counts of one response. Every counter is always there, as an integer. */
export interface Usage {
  /** The whole context the model read, earlier turns included. */
  input_tokens: number;
  input_tokens_details: {
    /** Of those, found in the engine's prefix cache. */
    cached_tokens: number;
    cache_write_tokens: number;
  };
  /** Sampled tokens, control tokens and reasoning included. */
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
export type IncompleteReason =
  'max_output_tokens' | 'content_filter' | 'interrupted' | 'steered' | 'insufficient_quota';

/** The public response object, complete: every key a client's schema asks for is present. */
export interface ResponseObject {
  id: string;
  object: 'response';
  /** Seconds since the epoch. */
  created_at: number;
  completed_at: number | null;
  /** The conversation that its items were added to. */
  conversation: { id: string } | null;
  status: ResponseStatus;
  background: boolean;
  error: { code: string; message: string } | null;
  incomplete_details: { reason: IncompleteReason } | null;
  instructions: string | null;
  max_output_tokens: number | null;
  max_tool_calls: number | null;
  metadata: Record<string, string>;
  model: string;
  output: OutputItem[];
  parallel_tool_calls: boolean;
  previous_response_id: string | null;
  prompt_cache_key: string | null;
  reasoning: { effort: string | null; summary: string | null };
  safety_identifier: string | null;
  service_tier: string;
  store: boolean;
  temperature: number;
  text: { format: ShownFormat; verbosity: string };
  tool_choice: ResponseRequest['toolChoice'];
  tools: ShownTool[];
  top_logprobs: number;
  top_p: number;
  truncation: 'auto' | 'disabled';
  usage: Usage | null;
  user: string | null;
  presence_penalty: number;
  frequency_penalty: number;
  access_programs: null;
  /** Ours: only there when the request, or an item of the chain, brought tools that are never offered. */
  turnpike?: { dropped_tools: string[] };
}

/** A response that has just begun. */
export function newResponse(id: string, request: ResponseRequest, createdAt: number): ResponseObject {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    conversation: request.conversation === undefined ? null : { id: request.conversation },
    status: 'in_progress',
    background: request.background,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.maxOutputTokens ?? null,
    max_tool_calls: request.maxToolCalls ?? null,
    metadata: request.metadata,
    model: request.model,
    output: [],
    parallel_tool_calls: request.parallelToolCalls,
    previous_response_id: request.previousResponseId ?? null,
    prompt_cache_key: request.promptCacheKey ?? null,
    reasoning: { effort: request.reasoning.effort ?? null, summary: request.reasoning.summary ?? null },
    safety_identifier: request.safetyIdentifier ?? null,
    service_tier: request.serviceTier ?? 'default',
    store: request.store,
    temperature: request.temperature,
    text: { format: shownFormat(request.text.format), verbosity: request.text.verbosity ?? 'medium' },
    tool_choice: request.toolChoice,
    tools: request.tools.map(shownTool),
    top_logprobs: request.topLogprobs,
    top_p: request.topP,
    truncation: request.truncation,
    usage: null,
    user: request.user ?? null,
    presence_penalty: 0,
    frequency_penalty: 0,
    access_programs: null,
  };
}

/** Most bytes that one UTF-16 unit takes in JSON: a control character, as \u0001. */
const MAX_UNIT_BYTES = 6;

/**
 * The response as lifecycle events show it: long tools and instructions are left out rather than repeated.
 * @param echoBytes most bytes of JSON that they may take together
 */
export function echoOf(response: ResponseObject, toolsKey: string, echoBytes: number): ResponseObject {
  const instructions = response.instructions ?? '';
  const units = toolsKey.length + instructions.length;
  if (units * MAX_UNIT_BYTES <= echoBytes) return response;
  const fits =
    units <= echoBytes &&
    Buffer.byteLength(toolsKey) + Buffer.byteLength(JSON.stringify(instructions)) <= echoBytes;
  return fits ? response : { ...response, tools: [], instructions: null };
}
