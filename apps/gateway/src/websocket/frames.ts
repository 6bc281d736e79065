import { ApiError, parseJson, parseStreamId, quotable } from '@turnpike/protocol';

/** A client frame, recognised by its type. */
export type ClientFrame =
  | { kind: 'create'; streamId: string | undefined; body: Record<string, unknown> }
  | { kind: 'interrupt'; streamId: string | undefined; responseId: unknown }
  | { kind: 'answered'; reply: string }
  | { kind: 'ignored' };

/**
 * The nested error frame, in the one shape that every client takes: without `status` and nesting Codex waits for its
 * idle timeout, and the AI SDK does not know an error without `sequence_number`.
 */
export function errorFrame(error: ApiError, streamId?: string): string {
  const headers = error.retryAfter === undefined ? undefined : { 'retry-after': String(error.retryAfter) };
  return JSON.stringify({
    type: 'error',
    status: error.status,
    sequence_number: 0,
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
};

/** The answer to an interruption of a response that does not run on this connection. */
export function interruptFailed(responseId: unknown, streamId?: string): string {
  return JSON.stringify({
    type: 'response.interrupt.failed',
    sequence_number: 0,
    ...(streamId === undefined ? {} : { stream_id: streamId }),
    response_id: responseId ?? null,
    error: {
      type: 'invalid_request_error',
      code: 'response_not_found',
      message: 'No response of this id is running on this connection.',
      param: 'response_id',
    },
  });
}

/** Notices that need no answer. Codex sent `response.processed` for a while. */
const SILENT = new Set(['response.processed']);

/**
 * Reads one text message.
 * @throws ApiError invalid_json | json_too_deep | invalid_type | invalid_stream_id
 */
export function readFrame(text: string): ClientFrame {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ApiError('invalid_type', { message: 'A message must be a JSON object.' });
  }
  const body = value as Record<string, unknown>;
  const type = body['type'];
  if (typeof type !== 'string') return unknownType("'type' has to be a string", body);
  if (type === 'response.create') return { kind: 'create', streamId: parseStreamId(body['stream_id']), body };
  if (type === 'response.interrupt') {
    return { kind: 'interrupt', streamId: parseStreamId(body['stream_id']), responseId: body['response_id'] };
  }
  if (SILENT.has(type)) return { kind: 'ignored' };
  const refuse = Object.hasOwn(REFUSED, type) ? REFUSED[type] : undefined;
  if (refuse === undefined) return unknownType(`'${quotable(type)}'`, body);
  return { kind: 'answered', reply: JSON.stringify(refuse(body)) };
}

/** The error belongs to the lane that the frame names, if that is one: a client with lanes takes any other for its connection's. */
function unknownType(shown: string, body: Record<string, unknown>): ClientFrame {
  const message = `Unknown event type: ${shown}. Supported types are: 'response.create'.`;
  const error = new ApiError('unknown_event_type', { param: 'type', message });
  return { kind: 'answered', reply: errorFrame(error, laneOf(body)) };
}

function laneOf(body: Record<string, unknown>): string | undefined {
  try {
    return parseStreamId(body['stream_id']);
  } catch {
    return undefined;
  }
}
