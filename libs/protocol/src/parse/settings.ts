import { z } from 'zod';
import { optional } from './fields.js';

export const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

/** A response repeats it in each of its lifecycle events, which clients may limit to 1 MiB. */
const MAX_DESCRIPTION_CHARACTERS = 16_384;

const schemaName = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, '_' or '-'");

/** `text.format`, of a request or of a `configuration_update` item. */
export const textFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: schemaName,
    description: optional(z.string().max(MAX_DESCRIPTION_CHARACTERS)),
    schema: z.record(z.string(), z.unknown()),
    strict: optional(z.boolean()),
  }),
]);
