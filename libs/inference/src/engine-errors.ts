import { ApiError } from '@turnpike/protocol';
import type { Fields } from './read-values.js';

/**
 * How engines word a prompt that does not fit. vLLM: "maximum context length", "maximum model length"; SGLang and Ollama:
 * "context length"; llama-server: "available context size", `exceed_context_size_error`; TensorRT-LLM: "max_seq_len",
 * "max_num_tokens", "maximum input length"; TGI: "`inputs` tokens + `max_new_tokens` must be <="; hosted ones:
 * `context_length_exceeded`, "prompt is too long", "maximum prompt length", "reduce the length of the messages", "model token
 * limit". Older versions of vLLM count what is left of the context, and then refuse that: "max_tokens must be at least 1, got -5".
 */
const CONTEXT_OVERFLOW = new RegExp(
  [
    'context[ _](?:length|size|window|limit)',
    'maximum (?:allowed |supported )?(?:model|prompt|input|sequence) length',
    'max_tokens must be at least 1, got -',
    'max_(?:seq_len|num_tokens|input_len)',
    '`inputs` (?:tokens \\+|must have less)',
    '(?:prompt|input) (?:is )?too long',
    'prompt exceeds max(?:imum)? length',
    '(?:input|prompt) token count',
    'range of input length',
    'model token limit',
    'Prompt 超长',
    'reduce the length of',
  ].join('|'),
  'i',
);

/**
 * A 404 that is about the model, and not about the address. vLLM: "The model `m` does not exist"; Ollama: "model 'm' not
 * found"; SGLang and hosted ones: `model_not_found`.
 */
const NO_SUCH_MODEL = /model/i;

/**
 * How engines word ids that they do not have. vLLM: "out of vocabulary"; llama-server: "invalid tokens"; SGLang: "vocab size".
 * Ids come from here alone, so it is the configuration that is at fault.
 */
const FOREIGN_IDS = /out of vocabulary|contains invalid tokens|vocab(?:ulary)?[ _]size/i;

/** What statuses mean that tell of a configuration at fault, for who reads the log. */
const HINTS: Readonly<Record<number, string>> = {
  401: ': it wants a key, or another one (apiKeyEnv)',
  403: ': it wants a key, or another one (apiKeyEnv)',
  404: ': its url or the name of the model there (engineModel) is wrong',
};
const FOREIGN_IDS_HINT =
  ": it does not know ids of the prompt, so the model's format or tokenizer is another one's";

/** Statuses that blame the request, and not the engine or its address. */
const REFUSALS = new Set([400, 413, 422]);

/** Statuses of a server that has too much to do; 529 is Anthropic's, and of those who stand in front of it. */
const OVERLOADS = new Set([429, 503, 529]);

/** When to try an overloaded engine again, in seconds: its queue is short of one turn, not of an outage. */
const OVERLOAD_RETRY_SECONDS = 1;
/** Longest wait that an engine can ask clients for, in seconds. */
const MAX_RETRY_SECONDS = 300;

/**
 * The error for an engine's HTTP answer. What the engine said is read and dropped: it may quote the prompt, which
 * belongs neither in a log nor in front of another client.
 * @param retryAfter the answer's header of that name; a date in it is passed over
 * @returns engine_refused for a request that is at fault, and engine_lacks_model for a model that the engine does not have:
 *   they say nothing of how it is
 */
export function errorOfBody(status: number, body: string, retryAfter?: string): ApiError {
  const isForeign = REFUSALS.has(status) && FOREIGN_IDS.test(body);
  const hint = isForeign ? FOREIGN_IDS_HINT : (HINTS[status] ?? '');
  const cause = new Error(`the engine answered with status ${status}${hint}`);
  // An overloaded server may as well speak of its context; one that is asked for too much does not say so by 5xx.
  if (status < 500 && !OVERLOADS.has(status) && CONTEXT_OVERFLOW.test(body)) {
    return new ApiError('context_length_exceeded', { param: 'input', cause });
  }
  if (OVERLOADS.has(status)) return overloaded(cause, retryAfter);
  if (status === 404 && NO_SUCH_MODEL.test(body)) return new ApiError('engine_lacks_model', { cause });
  return new ApiError(REFUSALS.has(status) ? 'engine_refused' : 'engine_error', { cause });
}

function overloaded(cause: Error, header: string | undefined): ApiError {
  const asked = Math.ceil(Number(header));
  const retryAfter = asked >= 1 ? Math.min(asked, MAX_RETRY_SECONDS) : OVERLOAD_RETRY_SECONDS;
  // Codex reads the time to wait out of the message.
  const message = `The inference engine is overloaded right now. Please try again in ${retryAfter}s.`;
  return new ApiError('server_is_overloaded', { cause, retryAfter, message });
}

/** Statuses behind the codes and types that servers put into a stream. */
const STATUS_OF: Readonly<Record<string, number>> = {
  model_not_found: 404,
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  server_is_overloaded: 503,
  slow_down: 503,
  overloaded_error: 503,
  engine_overloaded_error: 503,
  unavailable_error: 503,
};

/**
 * Looks whether an event, or a whole answer, is an error: servers, and what stands in front of them, put those into a 200 in two
 * shapes.
 * @throws ApiError when it is one
 */
export function refuseError(event: Fields): void {
  const { error, object } = event;
  if (error !== undefined && error !== null) throw errorOfObject(error);
  if (object === 'error') throw errorOfObject(event);
}

/** The error for an error object inside a 200 stream. */
export function errorOfObject(error: unknown): ApiError {
  const fields = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const said = fields['code'] ?? fields['status_code'];
  const named = [said, fields['type']].find((name) => Object.hasOwn(STATUS_OF, String(name)));
  const code = STATUS_OF[String(named)] ?? Number(said ?? NaN);
  const text = JSON.stringify(error) ?? '';
  // An object without a status is the engine's fault, unless it says that the prompt is too long.
  if (!Number.isInteger(code)) return errorOfBody(CONTEXT_OVERFLOW.test(text) ? 400 : 500, text);
  return errorOfBody(code, text);
}

/** Codes of node that mean no request ever reached the engine. */
const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);

/** The error for a connection that failed. */
export function errorOfTransport(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const code = codeOf(thrown);
  // What node throws may hold the bytes that it could not read, which belong in no log.
  const cause = new Error(`the connection to the engine failed: ${code || 'unknown'}`);
  return new ApiError(NEVER_REACHED.has(code) ? 'engine_unavailable' : 'engine_error', { cause });
}

/** The error of an answer that says nothing we know. What it was stays out of it: it may quote the output. */
export function unreadable(): ApiError {
  return new ApiError('engine_error', { message: 'The inference engine sent an unreadable answer.' });
}

/** The error of a stream that stopped without a reason. */
export function unfinished(): ApiError {
  return new ApiError('engine_error', {
    message: 'The inference engine ended its answer without finishing it.',
  });
}

/** The code that node gives an error; of several tries to connect, that of the first. */
function codeOf(thrown: unknown): string {
  const { code, errors } = (thrown ?? {}) as { code?: unknown; errors?: unknown };
  if (typeof code === 'string') return code;
  return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : '';
}
