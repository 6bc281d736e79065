/**
 * Every error a client can see, on one screen. Both transports and the documentation read this table.
 *
 * `status` is the HTTP status (and the `status` of a WebSocket error frame). `type` is OpenAI's error class. A
 * message ending in nothing but the table's text never names an engine address, a file or a stack.
 */
export const ERRORS = {
  invalid_http: [400, 'invalid_request_error', 'The request is not valid HTTP.'],
  invalid_json: [400, 'invalid_request_error', 'The body is not valid JSON.'],
  json_too_deep: [400, 'invalid_request_error', 'The JSON is nested too deeply.'],
  json_too_many_values: [400, 'invalid_request_error', 'The JSON has too many values.'],
  invalid_type: [400, 'invalid_request_error', 'A field has the wrong type.'],
  invalid_value: [400, 'invalid_request_error', 'A field has a value that is not supported.'],
  missing_required_parameter: [400, 'invalid_request_error', 'A required parameter is missing.'],
  unsupported_parameter: [400, 'invalid_request_error', 'A parameter is not supported here.'],
  tool_output_mismatch: [400, 'invalid_request_error', 'Tool calls and tool outputs do not match.'],
  unknown_event_type: [400, 'invalid_request_error', 'Unknown event type.'],
  binary_frame: [400, 'invalid_request_error', 'Binary messages are not supported: send JSON as text.'],
  context_length_exceeded: [
    400,
    'invalid_request_error',
    'The input is longer than the context window of the model.',
  ],
  content_blocked: [
    400,
    'invalid_request_error',
    'The input was refused by the content policy of this server.',
  ],
  template_refused: [
    400,
    'invalid_request_error',
    'The chat template of the model refuses this conversation.',
  ],
  previous_response_not_found: [400, 'invalid_request_error', 'Previous response not found.'],
  invalid_encrypted_content: [400, 'invalid_request_error', 'The encrypted content could not be verified.'],
  invalid_image_url: [
    400,
    'invalid_request_error',
    "An image has to be a data: URL ('data:image/png;base64,...') or an http or https URL.",
  ],
  invalid_base64_image: [400, 'invalid_request_error', 'The data: URL of the image is not valid base64.'],
  invalid_image_format: [
    400,
    'invalid_request_error',
    'The image is not a PNG, JPEG, GIF or WebP, or not what its media type says.',
  ],
  image_too_large: [400, 'invalid_request_error', 'The image has more pixels than this server takes.'],
  image_file_too_large: [
    400,
    'invalid_request_error',
    'The images of the request have more bytes together than this server takes.',
  ],
  failed_to_download_image: [400, 'invalid_request_error', 'The image could not be downloaded.'],
  invalid_stream_id: [
    400,
    'invalid_request_error',
    "stream_id must be a non-empty string of at most 256 letters, digits, '_', '-' or '.'.",
  ],
  websocket_stream_limit_reached: [
    400,
    'invalid_request_error',
    'This connection has used its 32 distinct stream ids. Reuse one of them or open another connection.',
  ],
  websocket_connection_limit_reached: [
    400,
    'invalid_request_error',
    'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
  ],
  too_many_queued_responses: [429, 'rate_limit_error', 'Too many responses are queued on this connection.'],
  too_many_connections_of_key: [429, 'rate_limit_error', 'Too many connections with this key.'],
  invalid_api_key: [401, 'authentication_error', 'Incorrect or missing API key.'],
  insufficient_permissions: [403, 'permission_error', 'This key may not do this.'],
  too_many_failed_attempts: [429, 'rate_limit_error', 'Too many requests with keys that are not known.'],
  // As OpenAI says it: clients that know this code do not try again.
  insufficient_quota: [
    429,
    'insufficient_quota',
    'You exceeded your current quota, please check your plan and billing details.',
  ],
  origin_not_allowed: [403, 'permission_error', 'Requests from this origin are not allowed.'],
  steering_not_supported: [400, 'invalid_request_error', 'This response cannot be steered.'],
  too_many_pending_steers: [400, 'invalid_request_error', 'Too much steering input is waiting already.'],
  not_found: [404, 'invalid_request_error', 'There is nothing at this address.'],
  model_not_found: [404, 'invalid_request_error', 'The model does not exist.'],
  item_not_found: [404, 'invalid_request_error', 'Item not found.'],
  response_already_completed: [400, 'invalid_request_error', 'The response has already ended.'],
  conversation_not_found: [404, 'invalid_request_error', 'Conversation not found.'],
  not_a_background_response: [400, 'invalid_request_error', 'Only background responses can do this.'],
  response_not_found: [404, 'invalid_request_error', 'Response not found.'],
  method_not_allowed: [405, 'invalid_request_error', 'This address does not take that method.'],
  request_timeout: [408, 'invalid_request_error', 'The request did not arrive in time.'],
  body_too_large: [413, 'invalid_request_error', 'The body is larger than this server accepts.'],
  unsupported_encoding: [415, 'invalid_request_error', 'This content encoding is not supported.'],
  expectation_failed: [417, 'invalid_request_error', "The header 'Expect' can be 100-continue only."],
  idempotency_key_reused: [
    422,
    'invalid_request_error',
    'This idempotency key was sent with another request.',
  ],
  upgrade_required: [
    426,
    'invalid_request_error',
    'This address answers WebSocket upgrades and POST requests only.',
  ],
  headers_too_large: [431, 'invalid_request_error', 'The headers of the request are too large.'],
  // 503 where 429 would be the usual one: Codex fails its turn on 429, and falls back to HTTP on 503.
  too_many_connections: [503, 'server_error', 'Too many connections.'],
  server_error: [500, 'server_error', 'The server had an error while processing your request.'],
  server_restarted: [500, 'server_error', 'The server restarted before the response was complete.'],
  engine_error: [502, 'server_error', 'The inference engine failed while it was answering.'],
  engine_refused: [502, 'server_error', 'The inference engine does not take this request.'],
  engine_lacks_model: [502, 'server_error', 'The inference engine does not serve this model right now.'],
  engine_timeout: [504, 'server_error', 'The inference engine was silent for too long.'],
  tool_call_missing: [502, 'server_error', "The model did not make a tool call that 'tool_choice' allows."],
  invalid_answer: [502, 'server_error', "The model's answer is not what 'text.format' asks for."],
  compaction_failed: [502, 'server_error', 'The model did not write a summary of the conversation.'],
  engine_unavailable: [
    503,
    'server_error',
    'The inference engine for this model cannot be reached right now.',
  ],
  safety_unavailable: [
    503,
    'server_error',
    'The input could not be checked against the content policy right now. Please try again in 5s.',
  ],
  server_is_overloaded: [
    503,
    'server_error',
    'The inference engine is overloaded right now. Please try again in 1s.',
  ],
  metering_unavailable: [503, 'server_error', 'The server cannot account for more requests right now.'],
  store_unavailable: [
    503,
    'server_error',
    'What is stored cannot be reached right now. Please try again in 5s.',
  ],
  server_shutting_down: [503, 'server_error', 'The server is restarting. Try again on a new connection.'],
} as const satisfies Record<string, readonly [status: number, type: string, message: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** The `error` object of a body or frame. All four keys are always there. */
export interface ErrorBody {
  type: string;
  code: ErrorCode;
  message: string;
  param: string | null;
}

export interface ApiErrorOptions {
  /** Path of the field at fault, as in `input[2].call_id`. */
  param?: string | undefined;
  /** Replaces the table's message where a name or value belongs in it. */
  message?: string | undefined;
  /** Kept for logs, never sent. */
  cause?: unknown;
  /** Seconds to wait before a retry; sent as `retry-after`. A 429 always names some, 1 by default. */
  retryAfter?: number | undefined;
}

/** An error meant for the client: a row of {@link ERRORS} with the field at fault. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    super(
      options.message ?? ERRORS[code][2],
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.param = options.param;
    this.retryAfter = options.retryAfter ?? (ERRORS[code][0] === 429 ? 1 : undefined);
  }

  /** HTTP status. */
  get status(): number {
    return ERRORS[this.code][0];
  }

  /** The body of the error without its envelope. */
  get body(): ErrorBody {
    return { type: ERRORS[this.code][1], code: this.code, message: this.message, param: this.param ?? null };
  }

  /** Any thrown value as an ApiError; what is not one already becomes `server_error` with the original as cause. */
  static from(thrown: unknown): ApiError {
    return thrown instanceof ApiError ? thrown : new ApiError('server_error', { cause: thrown });
  }
}

/** Codes that a response fails with as they are. */
const OWN_CODES: ReadonlySet<ErrorCode> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'content_blocked',
  'safety_unavailable',
  'invalid_api_key',
]);

/**
 * Codes that `response.failed` may carry and what they are called there. Agents retry on `server_error`, and on
 * `rate_limit_exceeded` after the time that its message names, and stop on the others: an engine fault has to be a
 * `server_error`, an overload a `rate_limit_exceeded`, a budget that has ended neither.
 */
export function responseErrorCode(code: ErrorCode): string {
  const [status, type] = ERRORS[code];
  if (OWN_CODES.has(code)) return code;
  if (status === 429 || code === 'server_is_overloaded') return 'rate_limit_exceeded';
  return type === 'server_error' ? 'server_error' : 'invalid_prompt';
}
