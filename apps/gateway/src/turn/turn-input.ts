import type { ConnectionCache } from '@turnpike/conversation';
import type { ApiError, ResponseObject, ResponseRequest } from '@turnpike/protocol';
import type { LaneId } from '@turnpike/turns';
import type { EventSink } from './event-sink.js';

/** One request on its way to a response. */
export interface TurnInput {
  readonly request: ResponseRequest;
  readonly tenant: string;
  readonly sink: EventSink;
  /** Ends when the client is gone. */
  readonly signal: AbortSignal;
  /** The WebSocket it came over, and the lane. */
  readonly connection?: { readonly cache: ConnectionCache; readonly lane: LaneId } | undefined;
}

/** What became of a turn. */
export interface TurnOutcome {
  /** Final: completed, incomplete or failed. */
  readonly response: ResponseObject;
  /** Why a failed response failed. */
  readonly failure?: ApiError | undefined;
}
