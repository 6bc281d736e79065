import type { ResponseAssembler } from '@turnpike/assembly';
import { ApiError, mintId, type Item, type MessageItem } from '@turnpike/protocol';
import { foldCalls, type WaitingCalls } from '@turnpike/validation';
import type { EventSink } from './event-sink.js';

/** What a client says while a response runs, for the response that follows it. */
export interface Steer {
  readonly id: string;
  readonly items: readonly MessageItem[];
}

/** What may wait for the end of one response: submissions, and characters of all of them as JSON. */
const MAX_STEERS = 16;
const MAX_STEER_CHARACTERS = 1024 * 1024;

export interface ResponseControlOptions {
  readonly assembler: ResponseAssembler;
  readonly sink: EventSink;
  /** Whether the response may be steered. */
  readonly steerable: boolean;
}

/** What a client can do to a response that runs: interrupt it, steer it, answer its calls. */
export class ResponseControl {
  readonly #options: ResponseControlOptions;
  readonly #interrupt = new AbortController();
  readonly #steers: Steer[] = [];
  /** Outputs that the client has given, and how many of them the model has read. */
  readonly #outputs: Item[] = [];
  #read = 0;
  /** Calls that wait after so many items of the output, and all that was given. */
  #waiting: WaitingCalls = new Map();
  #seen = 0;
  #onChange: (() => void) | undefined;
  #closed = false;
  #stopsWaiting = false;

  constructor(options: ResponseControlOptions) {
    this.#options = options;
  }

  /** Aborted once the client has interrupted the response. */
  get interrupted(): AbortSignal {
    return this.#interrupt.signal;
  }

  /** What the client wants to be heard next, in the order in which it came. */
  get steers(): readonly Steer[] {
    return this.#steers;
  }

  /**
   * Ends the response with what is finished.
   * @throws ApiError response_already_completed
   */
  interrupt(): void {
    // What was interrupted is over, though what its engine had written by then may still be coming in.
    if (this.#closed || this.#interrupt.signal.aborted) throw new ApiError('response_already_completed');
    this.#notice('response.interrupt.accepted', { response_id: this.#id, response: null });
    this.#interrupt.abort();
    this.#onChange?.();
  }

  /**
   * Takes input for a response that follows this one.
   * @throws ApiError steering_not_supported | too_many_pending_steers
   */
  steer(items: readonly MessageItem[]): void {
    if (!this.#options.steerable) throw new ApiError('steering_not_supported');
    const characters = JSON.stringify([this.#steers, items]).length;
    if (this.#steers.length >= MAX_STEERS || characters > MAX_STEER_CHARACTERS) {
      throw new ApiError('too_many_pending_steers');
    }
    const id = mintId('steer');
    this.#notice('response.steer.accepted', { steer: { id, previous_response_id: this.#id } });
    this.#steers.push({ id, items });
  }

  /**
   * Takes outputs of calls that this response has made; it goes on once none of its calls waits any more.
   * @param acknowledges whether the client is told
   * @throws ApiError tool_output_mismatch for an output without a call that waits; response_already_completed
   */
  answer(outputs: readonly Item[], acknowledges: boolean): void {
    if (this.#closed) throw new ApiError('response_already_completed');
    this.#waiting = foldCalls(this.waiting(), outputs, 'input');
    this.#outputs.push(...outputs.map((output) => ({ ...output, id: output.id ?? mintId(output.type) })));
    if (acknowledges) this.#notice('response.inject.created', { response_id: this.#id });
    this.#onChange?.();
  }

  /** The output has ended: nothing that is given now could reach it. */
  close(): void {
    this.#closed = true;
  }

  /** Calls of this response that have no output yet. */
  waiting(): WaitingCalls {
    const items = this.#options.assembler.items.slice(this.#seen).map(({ item }) => item);
    this.#seen += items.length;
    this.#waiting = foldCalls(this.#waiting, items, 'input');
    return this.#waiting;
  }

  /** Whether the client has answered a call that the model has not gone on from yet. */
  get hasUnread(): boolean {
    return this.#read < this.#outputs.length;
  }

  /** The outputs that the model has not read yet; from now on it has. */
  takeOutputs(): readonly Item[] {
    const unread = this.#outputs.slice(this.#read);
    this.#read = this.#outputs.length;
    return unread;
  }

  /** The connection takes nothing more: a response that waits for its client ends with what is finished. */
  stopWaiting(): void {
    this.#stopsWaiting = true;
    this.#onChange?.();
  }

  /** Resolves when no call waits any more, or when there is no point in waiting: interrupted, or the client is gone. */
  async untilAnswered(gone: AbortSignal): Promise<void> {
    const onGone = () => this.#onChange?.();
    gone.addEventListener('abort', onGone, { once: true });
    while (this.waiting().size > 0 && !gone.aborted && !this.#interrupt.signal.aborted) {
      if (this.#stopsWaiting) this.#interrupt.abort();
      else await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
    this.#onChange = undefined;
    gone.removeEventListener('abort', onGone);
  }

  get #id(): string {
    return this.#options.assembler.response.id;
  }

  #notice(...event: Parameters<ResponseAssembler['notice']>): void {
    const { sink, assembler } = this.#options;
    sink.send([assembler.notice(...event)]);
  }
}
