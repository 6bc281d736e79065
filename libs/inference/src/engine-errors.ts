import { ApiError } from '@turnpike/protocol';

/**
 * How engines word a prompt that does not fit. vLLM: "maximum context length", "maximum model length"; SGLang: "context
 * length"; llama-server: "available context size".
 */
const CONTEXT_OVERFLOW = /context (?:length|size|window)|maximum model length/i;

/** When to try an overloaded engine again, in seconds: its queue is short of one turn, not of an outage. */
const OVERLOAD_RETRY_SECONDS = 1;

/**
 * The error for an engine's HTTP answer. What the engine said is read and dropped: it may quote the prompt, which
 * belongs neither in a log nor in front of another client.
 */
export function errorOfBody(status: number, body: string): ApiError {
  const cause = new Error(`the engine answered with status ${status}`);
  if (CONTEXT_OVERFLOW.test(body)) return new ApiError('context_length_exceeded', { param: 'input', cause });
  if (status === 429 || status === 503) {
    return new ApiError('server_is_overloaded', { cause, retryAfter: OVERLOAD_RETRY_SECONDS });
  }
  return new ApiError('engine_error', { cause });
}

/** The error for an error object inside a 200 stream. */
export function errorOfObject(error: unknown): ApiError {
  const fields = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const code = Number(fields['code']);
  return errorOfBody(Number.isInteger(code) ? code : 500, JSON.stringify(error) ?? '');
}

/** Codes of node and undici that mean no request ever reached the engine. */
const NEVER_REACHED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The error for a connection that failed. */
export function errorOfTransport(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const code = (thrown as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && NEVER_REACHED.has(code)
    ? new ApiError('engine_unavailable', { cause: thrown })
    : new ApiError('engine_error', { cause: thrown });
}
