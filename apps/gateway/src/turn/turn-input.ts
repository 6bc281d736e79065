import type { Ending } from '@turnpike/assembly';
import type { ConnectionCache, ParentSource, ResponseStore } from '@turnpike/conversation';
import type { ApiError, ResponseObject, ResponseRequest } from '@turnpike/protocol';
import type { LaneId } from '@turnpike/turns';
import type { EventSink } from './event-sink.js';
import type { ResponseControl, Steer } from './response-control.js';

/** One request on its way to a response. */
export interface TurnInput {
  readonly request: ResponseRequest;
  readonly tenant: string;
  /** Id of the key that it is accounted to. */
  readonly key: string;
  readonly sink: EventSink;
  /** Ends when the client is gone; with an ApiError as its reason, the response fails with that. */
  readonly signal: AbortSignal;
  readonly connection?: TurnConnection | undefined;
  /** Items at the front of the input that are not of the request itself: what the client had steered with before. */
  readonly prepended?: number | undefined;
  readonly background?: BackgroundTurn | undefined;
}

/** A response that was accepted before its turn came, and is made whether its client waits or not. */
export interface BackgroundTurn extends Pick<ResponseStore, 'save'> {
  readonly id: string;
  /** When it was accepted, in seconds since the epoch. */
  readonly createdAt: number;
  /** Number of its next event: those before it are out. */
  readonly sequence: number;
  /** How it ends when the signal has cut it off. */
  cutOff(): Ending;
}

/** The WebSocket a request came over. */
export interface TurnConnection {
  readonly cache: ConnectionCache;
  readonly lane: LaneId;
  /** Responses of connections that were lost a moment ago. */
  readonly lost: ParentSource;
  /** Called when the response exists, with what the client can do to it. */
  readonly onBegin: (responseId: string, control: ResponseControl) => void;
}

/** What became of a turn. */
export interface TurnOutcome {
  /** Final: completed, incomplete or failed. */
  readonly response: ResponseObject;
  /** Why a failed response failed. */
  readonly failure?: ApiError | undefined;
  /** What the client said meanwhile, for the response that follows. */
  readonly steers: readonly Steer[];
  /** Ids of its calls that have no output yet. */
  readonly waiting: readonly string[];
}
