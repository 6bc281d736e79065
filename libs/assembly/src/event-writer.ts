import { TERMINAL_EVENTS, type EventFrame, type EventType } from '@turnpike/protocol';

/** Numbers and serialises the events of one response. */
export class EventWriter {
  #sequence: number;
  #closed = false;
  /** Closes each event: its lane, where it has one. */
  readonly #tail: string;

  /**
   * @param streamId the named lane every event of this response echoes
   * @param sequence number of the first event
   */
  constructor(streamId?: string, sequence = 0) {
    this.#sequence = sequence;
    this.#tail = streamId === undefined ? '}' : `,"stream_id":${JSON.stringify(streamId)}}`;
  }

  /** An event with these fields. */
  event(type: EventType, fields: Record<string, unknown>): EventFrame {
    return this.raw(type, JSON.stringify(fields).slice(1, -1));
  }

  /** An event whose fields are already JSON text, without braces. Throws after a terminal event: nothing follows it. */
  raw(type: EventType, fields: string): EventFrame {
    if (this.#closed) throw new Error('nothing may follow the terminal event of a response');
    this.#closed = TERMINAL_EVENTS.some((terminal) => terminal === type);
    const separator = fields === '' ? '' : ',';
    return {
      type,
      json: `{"type":"${type}","sequence_number":${this.#sequence++}${separator}${fields}${this.#tail}`,
    };
  }
}
