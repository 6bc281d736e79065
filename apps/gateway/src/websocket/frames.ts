import { ApiError, parseJson, parseStreamId } from '@turnpike/protocol';

/** A client frame, recognised by its type. */
export type ClientFrame =
  | { kind: 'create'; streamId: string | undefined; body: Record<string, unknown> }
  | { kind: 'answered'; reply: string }
  | { kind: 'ignored' };

/** The nested error frame. Without `status` and nesting Codex waits for its idle timeout. */
export function errorFrame(error: ApiError, streamId?: string): string {
  const headers = error.retryAfter === undefined ? undefined : { 'retry-after': String(error.retryAfter) };
  return JSON.stringify({
    type: 'error',
    status: error.status,
    ...(streamId === undefined ? {} : { stream_id: streamId }),
    error: { ...error.body, ...(headers && { headers }) },
    ...(headers && { headers }),
  });
}

/**
 * Control events of the protocol that this server does not offer. Each has a documented refusal, which clients
 * handle; an error frame instead would end their turn.
 */
const REFUSED: Readonly<Record<string, (frame: Record<string, unknown>) => object>> = {
  'response.steer': (frame) => ({
    type: 'response.steer.failed',
    sequence_number: 0,
    error: {
      type: 'invalid_request_error',
      code: 'steering_not_supported',
      message: 'This server does not support steering.',
    },
    steer: { previous_response_id: frame['previous_response_id'] ?? null, input: frame['input'] ?? null },
  }),
  'response.interrupt': (frame) => ({
    type: 'response.interrupt.failed',
    sequence_number: 0,
    response_id: frame['response_id'] ?? null,
    error: {
      type: 'invalid_request_error',
      code: 'interrupt_not_supported',
      message: 'This server does not support interruption.',
      param: 'response_id',
    },
  }),
};

/** Notices that need no answer. Codex sent `response.processed` for a while. */
const SILENT = new Set(['response.processed']);

/**
 * Reads one text message.
 * @throws ApiError invalid_json | json_too_deep | unknown_event_type | invalid_stream_id | invalid_type
 */
export function readFrame(text: string): ClientFrame {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiError('invalid_type', { message: 'A message must be a JSON object.' });
  }
  const body = value as Record<string, unknown>;
  const type = body['type'];
  if (type === 'response.create') return { kind: 'create', streamId: parseStreamId(body['stream_id']), body };
  if (typeof type === 'string') {
    if (SILENT.has(type)) return { kind: 'ignored' };
    const refuse = Object.hasOwn(REFUSED, type) ? REFUSED[type] : undefined;
    if (refuse !== undefined) return { kind: 'answered', reply: JSON.stringify(refuse(body)) };
  }
  throw new ApiError('unknown_event_type', { param: 'type', message: unknownType(type) });
}

function unknownType(type: unknown): string {
  if (type === undefined) return "Missing required parameter: 'type'.";
  const shown = typeof type === 'string' ? type.slice(0, 64) : typeof type;
  return `Unknown event type: '${shown}'. Supported types are: 'response.create'.`;
}
