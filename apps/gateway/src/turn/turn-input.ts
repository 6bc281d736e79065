import type { ConnectionCache, ParentSource } from '@turnpike/conversation';
import type { ApiError, ResponseObject, ResponseRequest } from '@turnpike/protocol';
import type { LaneId } from '@turnpike/turns';
import type { EventSink } from './event-sink.js';

/** One request on its way to a response. */
export interface TurnInput {
  readonly request: ResponseRequest;
  readonly tenant: string;
  readonly sink: EventSink;
  /** Ends when the client is gone; with an ApiError as its reason, the response fails with that. */
  readonly signal: AbortSignal;
  readonly connection?: TurnConnection | undefined;
}

/** The WebSocket a request came over. */
export interface TurnConnection {
  readonly cache: ConnectionCache;
  readonly lane: LaneId;
  /** Responses of connections that were lost a moment ago. */
  readonly lost: ParentSource;
  /** Called when the response exists; `interrupt` makes it end with what is finished. */
  readonly onBegin: (responseId: string, interrupt: () => void) => void;
}

/** What became of a turn. */
export interface TurnOutcome {
  /** Final: completed, incomplete or failed. */
  readonly response: ResponseObject;
  /** Why a failed response failed. */
  readonly failure?: ApiError | undefined;
}
