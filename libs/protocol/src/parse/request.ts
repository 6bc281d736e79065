import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { ApiError } from '../errors.js';
import type { Item } from '../items.js';
import type { ResponseRequest } from '../request.js';
import { withAnsweredCalls } from '../tool-pairs.js';
import { parseConversation } from './conversation.js';
import { invalid, isAbsent, isObject, list, optional, parseField, withDefault } from './fields.js';
import { endsWithTrigger, inputItems } from './items.js';
import { parseMetadata } from './metadata.js';
import { textsOf } from './sent-path.js';
import { reasoningEffort, textFormat } from './settings.js';
import { parseToolChoice } from './tool-choice.js';
import { parseTools } from './tools.js';

/** More than any client sends: OpenAI takes 64. Longer ones could make events too large for their clients. */
const MAX_LABEL_CHARACTERS = 1_024;

const contextManagement = z.object({
  type: z.literal('compaction'),
  compact_threshold: optional(z.int().min(1)),
});

/** What can be asked to be included. Source: openai-node `ResponseIncludable`. */
const INCLUDABLE = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
] as const;

/**
 * What a query asks to be included, as `include=a&include=b` or with brackets. Nothing depends on it: all there is is included.
 * @throws ApiError invalid_value naming the entry at fault
 */
export function checkInclude(query: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(query)) {
    const [name, place] = /^include(?:\[(\d*)\])?$/.exec(key) ?? [];
    if (name === undefined) continue;
    [value].flat().forEach((entry, index) => {
      parseField(z.enum(INCLUDABLE), entry, `include[${place || index}]`);
    });
  }
}

/** A name that a response repeats in each of its lifecycle events. */
const label = optional(
  z.string().max(MAX_LABEL_CHARACTERS, `must have at most ${MAX_LABEL_CHARACTERS} characters`),
);

/** Fields of the request other than those that have parsers of their own. */
const settings = z.object({
  model: z.string().min(1).max(MAX_LABEL_CHARACTERS),
  previous_response_id: optional(z.string().min(1)),
  instructions: optional(z.string()),
  parallel_tool_calls: withDefault(z.boolean(), () => true),
  max_tool_calls: optional(z.int().min(1)),
  reasoning: withDefault(
    z.object({
      effort: optional(reasoningEffort),
      summary: label,
      context: optional(z.enum(['auto', 'current_turn', 'all_turns'])),
    }),
    () => ({ effort: undefined, summary: undefined, context: undefined }),
  ),
  text: withDefault(
    z.object({
      format: withDefault(textFormat, () => ({ type: 'text' as const })),
      verbosity: label,
    }),
    () => ({ format: { type: 'text' as const }, verbosity: undefined }),
  ),
  include: withDefault(list(z.enum(INCLUDABLE)), () => []),
  store: withDefault(z.boolean(), () => true),
  generate: withDefault(z.boolean(), () => true),
  stream: withDefault(z.boolean(), () => false),
  stream_options: optional(z.object({ include_obfuscation: optional(z.boolean()) })),
  background: withDefault(z.boolean(), () => false),
  temperature: withDefault(z.number().min(0).max(2), () => 1),
  top_p: withDefault(z.number().gt(0).max(1), () => 1),
  top_logprobs: withDefault(z.int().min(0).max(20), () => 0),
  max_output_tokens: optional(z.int().min(1)),
  truncation: withDefault(z.enum(['auto', 'disabled']), () => 'disabled' as const),
  context_management: withDefault(list(contextManagement), () => []),
  append: withDefault(z.boolean(), () => false),
  user: label,
  safety_identifier: label,
  prompt_cache_key: label,
  prompt_cache_options: optional(z.object({ prewarm: optional(z.boolean()) })),
  service_tier: label,
});

/** Features that change what an answer is: leaving them out silently would be wrong, so they are refused. */
const UNSUPPORTED: Readonly<Record<string, (value: unknown) => boolean>> = {
  prompt: (value) => !isAbsent(value),
};

/** What only makes sense where a client can speak while a response runs. */
const SOCKET_FIELDS = ['stream_id', 'append'];

/** Items parsed before others get their turn: about 4 ms of the slowest ones. */
const SLICE_ITEMS = 500;

/**
 * A `response.create` (its fields at top level) or the body of `POST /v1/responses`. Fields this server does not
 * know are ignored: clients add fields faster than servers learn them.
 * @throws ApiError naming the field at fault
 */
export function parseRequest(value: unknown, transport: 'http' | 'websocket'): ResponseRequest {
  const steps = parsing(value, transport);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * The same, for requests that come from outside: one with very many items is parsed in slices, between which the
 * events of other connections are handled.
 * @throws ApiError naming the field at fault
 */
export async function parseRequestInSlices(
  value: unknown,
  transport: 'http' | 'websocket',
): Promise<ResponseRequest> {
  const steps = parsing(value, transport);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

function* parsing(value: unknown, transport: 'http' | 'websocket'): Generator<void, ResponseRequest> {
  if (!isObject(value)) {
    throw new ApiError('invalid_type', { message: 'The request must be a JSON object.' });
  }
  refuseUnsupported(value, transport);
  const fields = parseField(settings, value, '');
  // What is made while nobody waits for it can only be had from the store.
  if (fields.background && !fields.store) throw invalid('background', "it needs 'store', which is false");
  const generate = fields.generate && fields.prompt_cache_options?.prewarm !== true;
  const compacts = endsWithTrigger(value['input']);
  if (compacts && !generate)
    throw invalid('generate', 'a compaction_trigger asks for a summary, which is generated');
  const input: Item[] = [];
  for (const item of inputItems(value['input'], 'input')) {
    input.push(item);
    if (input.length % SLICE_ITEMS === 0) yield;
  }
  const { tools, key } = parseTools(value['tools'], 'tools');
  return {
    model: fields.model,
    input: withAnsweredCalls(input),
    sentAsText: textsOf(value['input']),
    previousResponseId: fields.previous_response_id,
    conversation: parseConversation(value['conversation'], fields.store),
    instructions: fields.instructions,
    tools,
    toolsKey: key,
    toolChoice: parseToolChoice(value['tool_choice'], 'tool_choice'),
    parallelToolCalls: fields.parallel_tool_calls,
    maxToolCalls: fields.max_tool_calls,
    reasoning: fields.reasoning,
    text: fields.text,
    include: fields.include,
    store: fields.store,
    generate,
    background: fields.background,
    stream: fields.stream,
    metadata: parseMetadata(value['metadata'], 'metadata'),
    temperature: fields.temperature,
    topP: fields.top_p,
    topLogprobs: fields.top_logprobs,
    maxOutputTokens: fields.max_output_tokens,
    truncation: fields.truncation,
    compacts,
    compactThreshold: fields.context_management[0]?.compact_threshold,
    appends: fields.append,
    user: fields.user,
    safetyIdentifier: fields.safety_identifier,
    promptCacheKey: fields.prompt_cache_key,
    serviceTier: fields.service_tier,
    streamId: transport === 'websocket' ? parseStreamId(value['stream_id']) : undefined,
  };
}

function refuseUnsupported(body: Record<string, unknown>, transport: 'http' | 'websocket'): void {
  if (!isAbsent(body['conversation']) && !isAbsent(body['previous_response_id'])) {
    throw invalid('conversation', "it excludes 'previous_response_id'");
  }
  for (const [param, applies] of Object.entries(UNSUPPORTED)) {
    if (applies(body[param])) {
      throw new ApiError('unsupported_parameter', {
        param,
        message: `'${param}' is not supported by this server.`,
      });
    }
  }
  if (transport === 'websocket' && body['background'] === true) {
    throw new ApiError('unsupported_parameter', {
      param: 'background',
      message: "'background' belongs to HTTP requests only.",
    });
  }
  for (const param of SOCKET_FIELDS) {
    if (transport === 'websocket' || isAbsent(body[param]) || body[param] === false) continue;
    const message = `'${param}' belongs to WebSocket connections only.`;
    throw new ApiError('unsupported_parameter', { param, message });
  }
}

/** Source: OpenAI WebSocket mode, "1 to 256 letters, digits, '_', '-' or '.'". */
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/**
 * The lane of a frame; undefined is the default lane.
 * @throws ApiError invalid_stream_id
 */
export function parseStreamId(value: unknown): string | undefined {
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'string' || !STREAM_ID.test(value)) {
    throw new ApiError('invalid_stream_id', { param: 'stream_id' });
  }
  return value;
}
