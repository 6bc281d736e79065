import type { EventFrame } from '@turnpike/protocol';
import type { EventSink } from '../turn/event-sink.js';
import { eventsText } from './sse-sink.js';

/** Keeps the events that it passes on. A reader that has left, or cannot keep up, does not end the turn: it can ask again. */
export class RecordingSink implements EventSink {
  readonly #sink: EventSink;
  readonly #texts: string[] = [];

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /** Everything that was sent, as server-sent events. */
  get text(): string {
    return this.#texts.join('');
  }

  send(frames: readonly EventFrame[]): void {
    this.#texts.push(eventsText(frames));
    this.#sink.send(frames);
  }

  ready(): Promise<void> | undefined {
    return this.#sink.ready()?.catch(() => undefined);
  }
}
