import { z } from 'zod';
import { outputItem, responseShape } from './response-shape.js';

/** Every event of a stream, as strict as any client reads it, by its type. */
const text = z.string();
const index = z.int().min(0);
const place = { item_id: z.string().min(1), output_index: index };
const part = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('output_text'),
    text,
    annotations: z.array(z.never()),
    logprobs: z.array(z.never()),
  }),
  z.strictObject({ type: z.literal('reasoning_text'), text }),
]);
const logprobs = z.array(z.never());

const FIELDS = {
  'response.created': { response: responseShape },
  'response.in_progress': { response: responseShape },
  'response.completed': { response: responseShape },
  'response.incomplete': { response: responseShape },
  'response.failed': { response: responseShape },
  'response.output_item.added': { output_index: index, item: outputItem },
  'response.output_item.done': { output_index: index, item: outputItem },
  'response.output_item.interrupted': { ...place, response_id: z.string() },
  'response.content_part.added': { ...place, content_index: index, part },
  'response.content_part.done': { ...place, content_index: index, part },
  'response.output_text.delta': { ...place, content_index: index, delta: text.min(1), logprobs },
  'response.output_text.done': { ...place, content_index: index, text, logprobs },
  'response.reasoning_text.delta': { ...place, content_index: index, delta: text.min(1) },
  'response.reasoning_text.done': { ...place, content_index: index, text },
  'response.function_call_arguments.delta': { ...place, delta: text.min(1) },
  'response.function_call_arguments.done': { ...place, arguments: text, name: z.string() },
  'response.custom_tool_call_input.delta': { ...place, delta: text.min(1) },
  'response.custom_tool_call_input.done': { ...place, input: text },
  'response.interrupt.accepted': { response_id: z.string(), response: z.null() },
  keepalive: {},
} as const;

const SHAPES: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(FIELDS).map(([type, fields]) => [
    type,
    z.strictObject({
      type: z.literal(type),
      sequence_number: index,
      stream_id: z.string().min(1).optional(),
      ...fields,
    }),
  ]),
);

/** @throws when an event is of an unknown type or not of its shape */
export function checkEvent(event: { readonly type: string }): void {
  const shape = SHAPES[event.type];
  if (shape === undefined) throw new Error(`there is no event of type '${event.type}'`);
  shape.parse(event);
}
