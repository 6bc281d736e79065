import { z } from 'zod';
import { RequestError } from './errors.js';

const tokenId = z.number().int().nonnegative();

const imageUrl = z.object({
  type: z.literal('image_url'),
  url: z.string(),
  detail: z.enum(['low', 'high', 'original', 'auto']).optional(),
});

/** The fields that mean something here; vLLM's others are accepted and ignored. `null` is as good as nothing. */
const schema = z.object({
  model: z.string().nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  return_token_ids: z.boolean().nullish(),
  stop_token_ids: z.array(tokenId).nullish(),
  skip_special_tokens: z.boolean().nullish(),
  temperature: z.number().min(0).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  seed: z.number().int().nullish(),
  cache_salt: z.string().min(1).nullish(),
  request_id: z.string().max(256).nullish(),
  content_parts: z.array(imageUrl).nullish(),
});

/** An image as a request brings it. */
export type ImageUrl = z.output<typeof imageUrl>;

/** A validated request, without its prompt. */
export interface CompletionRequest {
  readonly model: string | undefined;
  readonly maxTokens: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly returnTokenIds: boolean;
  readonly stopTokenIds: readonly number[];
  readonly skipSpecialTokens: boolean;
  /** 0 takes the most likely token. */
  readonly temperature: number;
  readonly topP: number;
  /** Undefined: another one each time. */
  readonly seed: number | undefined;
  /** Only prompts of the same salt share what is cached. */
  readonly cacheSalt: string;
  /** What the client calls this request, for the log of what was produced. */
  readonly requestId: string;
  /** The images that stand for the placeholders of the prompt, in their order. */
  readonly images: readonly ImageUrl[];
}

/** vLLM's default for a request that names no `max_tokens`. */
const DEFAULT_MAX_TOKENS = 16;

/** @throws RequestError 400 that names the field at fault. */
export function parseCompletionRequest(fields: Record<string, unknown>): CompletionRequest {
  const parsed = schema.safeParse(fields);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const param = issue?.path.join('.') ?? '';
    throw new RequestError(400, `${param}: ${issue?.message ?? 'invalid value'}`, param);
  }
  const given = parsed.data;
  return {
    model: given.model ?? undefined,
    maxTokens: given.max_tokens ?? DEFAULT_MAX_TOKENS,
    stream: given.stream ?? false,
    includeUsage: given.stream_options?.include_usage ?? false,
    returnTokenIds: given.return_token_ids ?? false,
    stopTokenIds: given.stop_token_ids ?? [],
    skipSpecialTokens: given.skip_special_tokens ?? true,
    temperature: given.temperature ?? 1,
    topP: given.top_p ?? 1,
    seed: given.seed ?? undefined,
    cacheSalt: given.cache_salt ?? '',
    requestId: given.request_id ?? '',
    images: given.content_parts ?? [],
  };
}
