import { ApiError, parseJson, parseStreamId, quotable } from '@turnpike/protocol';
import { errorHeaders } from '../http/error-response.js';

/** A client frame, recognised by its type. */
export type ClientFrame =
  | { kind: 'create'; streamId: string | undefined; body: Record<string, unknown> }
  | { kind: 'control'; frame: ControlFrame }
  | { kind: 'answered'; reply: string }
  | { kind: 'ignored' };

/**
 * The nested error frame, in the one shape that every client takes: without `status` and nesting Codex waits for its
 * idle timeout, and the AI SDK does not know an error without `sequence_number`. Its headers stand where Codex looks for
 * them and where openai-node does.
 */
export function errorFrame(error: ApiError, streamId?: string, requestId?: string): string {
  const headers = errorHeaders(error, requestId);
  return JSON.stringify({
    type: 'error',
    status: error.status,
    sequence_number: 0,
    ...(streamId === undefined ? {} : { stream_id: streamId }),
    error: { ...error.body, headers },
    headers,
  });
}

/** A notice about a response that is not, or no longer, being written. */
export function noticeFrame(type: string, streamId: string | undefined, fields: object): string {
  const lane = streamId === undefined ? {} : { stream_id: streamId };
  return JSON.stringify({ type, sequence_number: 0, ...lane, ...fields });
}

/** Events about a response that runs. */
export const CONTROL_TYPES = [
  'response.interrupt',
  'response.steer',
  'response.inject',
  'response.append',
] as const;

export interface ControlFrame {
  readonly type: (typeof CONTROL_TYPES)[number];
  readonly streamId: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Notices that need no answer. Codex sent `response.processed` for a while. */
export const SILENT: ReadonlySet<string> = new Set(['response.processed']);

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
  if (SILENT.has(type)) return { kind: 'ignored' };
  const control = CONTROL_TYPES.find((known) => known === type);
  if (control === undefined) return unknownType(`'${quotable(type)}'`, body);
  return { kind: 'control', frame: { type: control, streamId: parseStreamId(body['stream_id']), body } };
}

const SUPPORTED = ['response.create', ...CONTROL_TYPES].map((type) => `'${type}'`).join(', ');

/** The error belongs to the lane that the frame names, if that is one: a client with lanes takes any other for its connection's. */
function unknownType(shown: string, body: Record<string, unknown>): ClientFrame {
  const message = `Unknown event type: ${shown}. Supported types are: ${SUPPORTED}.`;
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
