import type { EventBatch } from '@turnpike/background';
import { TERMINAL_EVENTS, type EventFrame } from '@turnpike/protocol';
import type { EventSink } from '../turn/event-sink.js';

export interface EventLogParts {
  /** Number of the first event. */
  readonly sequence: number;
  /** Most characters of all events; more than that, and none is kept. */
  readonly most: number;
  /** Keeps events. Resolves false when they are not wanted any more. */
  readonly write: (batch: EventBatch) => Promise<boolean>;
  /** Gives up what was kept. */
  readonly drop: () => Promise<void>;
  /** Called when keeping failed; it is tried again. */
  readonly onFailure: (error: unknown) => void;
}

/** Time from one write to the next, in ms: five rows a second of a response, however many tokens. */
const EVERY_MS = 200;
/** Time from a write that failed to the next, in ms. */
const AGAIN_MS = 1_000;
/** Characters that wait for a write before those who produce them wait too. */
const MOST_WAITING = 1024 * 1024;

/**
 * Keeps the events of a background response, in batches. Events are seen by clients only once they are kept, so that what
 * a client has seen is never taken back. The terminal event is left out: it is made from the response.
 */
export class EventLog implements EventSink {
  readonly #parts: EventLogParts;
  /** Number of the first event that waits. */
  #first: number;
  #waiting: string[] = [];
  /** Characters that wait, those of a write under way included. */
  #waitingSize = 0;
  #size = 0;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isHurried = false;
  #isTooLong = false;
  #isClosed = false;
  /** Ends a pause. */
  #wake: () => void = () => undefined;
  /** Those who wait for room. */
  #held: (() => void)[] = [];

  constructor(parts: EventLogParts) {
    this.#parts = parts;
    this.#first = parts.sequence;
  }

  send(frames: readonly EventFrame[]): void {
    if (this.#isClosed || this.#isTooLong) return;
    for (const { type, json } of frames) {
      if ((TERMINAL_EVENTS as readonly string[]).includes(type)) continue;
      this.#waiting.push(json);
      this.#waitingSize += json.length;
      this.#size += json.length;
    }
    this.#isTooLong = this.#size > this.#parts.most;
    if (this.#waiting.length > 0) this.#running ??= this.#run();
  }

  ready(): Promise<void> | undefined {
    if (this.#waitingSize <= MOST_WAITING || this.#isClosed) return undefined;
    return new Promise((resolve) => this.#held.push(resolve));
  }

  /** Resolves when everything that was sent is kept, or is not wanted. */
  async flush(): Promise<void> {
    this.#isHurried = true;
    this.#wake();
    await this.#running;
    this.#isHurried = false;
  }

  /** Keeps nothing more, and lets go whoever waits. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
    this.#letGo();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      if (!this.#isHurried) await this.#pause(this.#writtenAt + EVERY_MS - performance.now());
      try {
        if (this.#isTooLong) await this.#drop();
        else await this.#write();
      } catch (thrown) {
        this.#parts.onFailure(thrown);
        await this.#pause(AGAIN_MS);
      }
    }
    this.#running = undefined;
  }

  async #write(): Promise<void> {
    const events = this.#waiting;
    const size = this.#waitingSize;
    this.#waiting = [];
    try {
      const isWanted = await this.#parts.write({ first: this.#first, events });
      if (!isWanted) return this.close();
    } catch (thrown) {
      this.#waiting = [...events, ...this.#waiting];
      throw thrown;
    }
    this.#first += events.length;
    this.#waitingSize -= size;
    this.#writtenAt = performance.now();
    this.#letGo();
  }

  async #drop(): Promise<void> {
    await this.#parts.drop();
    this.close();
  }

  /** Ends early when there is a hurry, or nothing more to do. */
  #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #letGo(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }
}
