import { type CallNames } from './call-names.js';
import { type MessageWriter } from './message-writer.js';

/** What readers of calls write to. */
export interface CallContext {
  readonly names: CallNames;
  readonly writer: MessageWriter;
  /** Text where a call should be: it becomes a message, since somebody has to see it. */
  unreadable(text: string, from: number, complete: boolean): void;
}

/** Reads what stands behind the marker that opens calls. */
export interface CallReader {
  /** Markers that mean something to it now. */
  readonly markers: readonly string[];
  /** Whether calls that are opened in text, without a control id, end it here. */
  readonly interruptible: boolean;
  /** Whether a text of a call's goes on, in which markers that look like tags of a text are some. */
  readonly quoted: boolean;
  /** Whether it has read all that it wants: text after it is no call. */
  readonly done: boolean;
  /** As in a scan target. */
  text(text: string, idAt: (offset: number) => number): number;
  marker(marker: string, id: number): void;
  /**
   * Nothing follows.
   * @param complete false when the output was cut here
   */
  finish(complete: boolean): void;
}
