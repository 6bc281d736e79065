import { z } from 'zod';

/**
 * The response object, as strict as any client reads it: every key there, of its type, and no other. Required keys are
 * those of OpenResponses' `ResponseResource`, with openai-node's own beside them.
 */
const status = z.enum(['in_progress', 'completed', 'incomplete']);
const text = z.string().refine((value) => value.isWellFormed(), 'holds a lone surrogate');

const message = z.strictObject({
  type: z.literal('message'),
  id: z.string().startsWith('msg_'),
  role: z.literal('assistant'),
  status,
  phase: z.enum(['commentary', 'final_answer']).optional(),
  content: z.array(
    z.strictObject({
      type: z.literal('output_text'),
      text,
      annotations: z.array(z.never()),
      logprobs: z.array(z.never()),
    }),
  ),
});
const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  id: z.string().startsWith('rs_'),
  summary: z.array(z.strictObject({ type: z.literal('summary_text'), text })),
  content: z.array(z.strictObject({ type: z.literal('reasoning_text'), text })).optional(),
  encrypted_content: z.string().min(1).optional(),
  status,
});
const call = {
  call_id: z.string().startsWith('call_'),
  name: z.string().min(1),
  namespace: z.string().min(1).optional(),
  status,
};
const functionCall = z.strictObject({
  type: z.literal('function_call'),
  id: z.string().startsWith('fc_'),
  ...call,
  arguments: text,
});
const customToolCall = z.strictObject({
  type: z.literal('custom_tool_call'),
  id: z.string().startsWith('ctc_'),
  ...call,
  input: text,
});
/** What a model can write, as events and responses show it. */
export const outputItem = z.discriminatedUnion('type', [message, reasoning, functionCall, customToolCall]);

const count = z.int().min(0);
/** Every counter, as an integer. */
export const usage = z
  .strictObject({
    input_tokens: count,
    input_tokens_details: z.strictObject({ cached_tokens: count, cache_write_tokens: count }),
    output_tokens: count,
    output_tokens_details: z.strictObject({ reasoning_tokens: count }),
    total_tokens: count,
  })
  .refine(
    ({ input_tokens: read, output_tokens: written, total_tokens: all }) => read + written === all,
    'does not add up',
  )
  .refine((all) => all.input_tokens_details.cached_tokens <= all.input_tokens, 'has more cached than read')
  .refine(
    (all) => all.output_tokens_details.reasoning_tokens <= all.output_tokens,
    'reasons more than it writes',
  );

const tool = z.union([
  z.strictObject({
    type: z.literal('function'),
    name: z.string(),
    description: z.string().nullable(),
    parameters: z.record(z.string(), z.unknown()).nullable(),
    strict: z.boolean().nullable(),
  }),
  z.looseObject({ type: z.string().refine((type) => type !== 'function') }),
]);
const format = z.union([
  z.strictObject({ type: z.enum(['text', 'json_object']) }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: z.string(),
    description: z.string().nullable(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean(),
  }),
]);
const toolChoice = z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string() })]);

export const responseShape = z
  .strictObject({
    id: z.string().startsWith('resp_'),
    object: z.literal('response'),
    created_at: z.int(),
    completed_at: z.int().nullable(),
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    background: z.boolean(),
    error: z.strictObject({ code: z.string().min(1), message: z.string().min(1) }).nullable(),
    incomplete_details: z.strictObject({ reason: z.string().min(1) }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int().nullable(),
    max_tool_calls: z.int().nullable(),
    metadata: z.record(z.string(), z.string()),
    model: z.string().min(1),
    output: z.array(outputItem),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.string().nullable(),
    prompt_cache_key: z.string().nullable(),
    reasoning: z.strictObject({ effort: z.string().nullable(), summary: z.string().nullable() }),
    safety_identifier: z.string().nullable(),
    service_tier: z.string(),
    store: z.boolean(),
    temperature: z.number(),
    text: z.strictObject({ format, verbosity: z.string() }),
    tool_choice: toolChoice,
    tools: z.array(tool),
    top_logprobs: z.int(),
    top_p: z.number(),
    truncation: z.enum(['auto', 'disabled']),
    usage: usage.nullable(),
    user: z.string().nullable(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    access_programs: z.null(),
    // Of a response that belongs to a conversation.
    conversation: z.strictObject({ id: z.string() }).nullable().optional(),
    // What this server says beyond the protocol.
    turnpike: z
      .strictObject({
        dropped_tools: z.array(z.string()).optional(),
        safety: z
          .strictObject({
            state: z.enum(['passed', 'blocked', 'unchecked']),
            policy: z.string().min(1),
            categories: z.array(z.string()).optional(),
            where: z.enum(['input', 'output']).optional(),
          })
          .optional(),
      })
      .optional(),
  })
  .refine((all) => (all.error !== null) === (all.status === 'failed'), 'has an error exactly when it failed')
  .refine(
    (all) => (all.incomplete_details !== null) === (all.status === 'incomplete'),
    'has details exactly when it is incomplete',
  )
  .refine(
    (all) => (all.completed_at !== null) === (all.status === 'completed'),
    'is dated exactly when it completed',
  )
  .refine(
    (all) => ['queued', 'in_progress'].includes(all.status) || all.usage !== null,
    'has ended and does not say what it used',
  );
