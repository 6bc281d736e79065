import type { FinishReason, MessageApi, OutputEvent } from '@turnpike/formats';
import type { EngineUsage } from './engine-usage.js';

/** Why an output of text ended. */
export type MessageFinish = FinishReason | 'content_filter';

/** What arrived together from a server that gives text. */
export interface MessageChunk {
  /** What it says, as the items of an output. Their ids are undefined: they are rendered from what they say. */
  readonly events: readonly OutputEvent[];
  /** Tokens of what is new in it, about: the server says how many there were in the end. */
  readonly sampled: number;
  readonly finish?: MessageFinish | undefined;
  readonly usage?: EngineUsage | undefined;
}

/** One generation of a server that takes messages and gives text. */
export interface MessageRequest {
  /** Which of the APIs of such servers. */
  readonly api: MessageApi;
  /** Fields of the body but for those below. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Lists of the body, each as JSON text of its entries with commas between them, in pieces that may be shared. */
  readonly lists: Readonly<Record<string, readonly Buffer[]>>;
  /** Reads the events of the answer. */
  readonly reader: MessageReader;
}

/** Reads the events of one answer, in their order. */
export interface MessageReader {
  /** @throws ApiError when the event is an error */
  read(event: Readonly<Record<string, unknown>>): MessageChunk;
  /** Closes what is open. */
  close(reason: FinishReason): readonly OutputEvent[];
}
