import type { EventFrame } from '@turnpike/protocol';

/** Where the events of a response go. */
export interface EventSink {
  /** Sends events that belong together in one write. */
  send(frames: readonly EventFrame[]): void;
  /** Undefined when the reader keeps up; else a promise for the moment it does. Rejects when it never will. */
  ready(): Promise<void> | undefined;
}

/** For callers that only want the finished response. */
export const DISCARD: EventSink = { send: () => undefined, ready: () => undefined };
