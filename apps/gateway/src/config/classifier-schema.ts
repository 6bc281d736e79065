import { CATEGORIES, ITEM_KINDS } from '@turnpike/safety';
import { z } from 'zod';

const score = z.number().min(0).max(1);

/** From which score on a category is flagged, or blocked. */
const threshold = z.strictObject({ flag: score.default(0.5), block: score.default(0.8) });

const shared = {
  /** Base URL of the server, with `/v1` where it has one. */
  url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
  model: z.string().min(1).optional(),
  /** Environment variable that the key is read from. */
  apiKeyVariable: z.string().min(1).optional(),
  /** How long one request may take, in ms. */
  timeoutMs: z.int().min(50).max(120_000).default(5_000),
  /** Requests at once; more wait. */
  connections: z.int().min(1).max(256).default(16),
  /** What it is asked about: all that is new, what the rules found suspicious, or that and a share of the rest. */
  asks: z.enum(['always', 'suspicion']).default('always'),
  /** Of `suspicion`: share of the rest that is asked about as well. */
  sample: score.default(0),
  /** Characters of the conversation before what is new that it sees. */
  window: z.int().min(0).max(100_000).default(4_000),
  /** Characters of one request; longer texts are sent in parts that overlap by the window. */
  maxCharacters: z.int().min(500).max(1_000_000).default(16_000),
};

/** Who is asked about what the rules let through. */
export const classifier = z.discriminatedUnion('kind', [
  z.strictObject({
    /** `POST /moderations`, as OpenAI has it. */
    kind: z.literal('moderations'),
    ...shared,
    threshold: threshold.prefault({}),
    /** Other thresholds for some kinds of items. */
    thresholds: z.partialRecord(z.enum(ITEM_KINDS), threshold).default({}),
  }),
  z.strictObject({
    /** Llama Guard, at `POST /chat/completions`. */
    kind: z.literal('llama-guard'),
    ...shared,
    model: z.string().min(1),
    /** Categories that are flagged only. */
    flagOnly: z.array(z.enum(CATEGORIES)).default([]),
  }),
  z.strictObject({
    /** gpt-oss-safeguard, or another model that follows a policy, at `POST /chat/completions`. */
    kind: z.literal('safeguard'),
    ...shared,
    model: z.string().min(1),
    /** What is to be refused, in words. */
    policy: z.string().min(1),
    flagOnly: z.array(z.enum(CATEGORIES)).default([]),
  }),
]);

export type ClassifierConfig = z.output<typeof classifier>;
