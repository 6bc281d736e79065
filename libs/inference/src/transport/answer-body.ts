import type { ClientRequest } from 'node:http';
import type { Readable } from 'node:stream';
import type { Watchdog } from './watchdog.js';

/** Bytes that wait to be read before the connection is held back. */
const MOST_WAITING_BYTES = 64 * 1024;

/**
 * The body of an answer, pulled: what has arrived since the last read comes as one piece. Whatever becomes of the connection,
 * all that arrived on it is given first; what it failed with is thrown behind that.
 */
export class AnswerBody implements AsyncIterable<Buffer> {
  readonly #response: Readable;
  readonly #watchdog: Watchdog;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  readonly #signal: AbortSignal;
  #isDraining = false;
  #isOver = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  /** @param signal ends the request: what it was ended with is thrown behind all that arrived, also where the answer was whole */
  constructor(request: ClientRequest, response: Readable, watchdog: Watchdog, signal: AbortSignal) {
    this.#signal = signal;
    this.#response = response;
    this.#watchdog = watchdog;
    // What a request was ended for says more than what that did to its answer.
    request.on('error', (error) => this.#end(error));
    response.on('error', (error) => this.#end(error));
    response.on('end', () => this.#end());
    response.on('close', () => this.#end());
    response.on('data', (bytes: Buffer) => this.#take(bytes));
  }

  /** From now on everything is taken as it comes, so that nothing is left behind when the other side closes. */
  drain(): void {
    this.#isDraining = true;
    this.#response.resume();
  }

  /** Leaving the iteration before the end closes the connection. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        if (this.#waiting.length > 0) yield this.#taken();
        else if (!this.#isOver) await this.#arrival();
        else return this.#close();
      }
    } finally {
      this.#response.destroy();
    }
  }

  /** @throws what the request was ended with, or what its connection failed with */
  #close(): void {
    this.#signal.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #take(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes >= MOST_WAITING_BYTES && !this.#isDraining) this.#response.pause();
    this.#wake();
  }

  #taken(): Buffer {
    const [first] = this.#waiting;
    const all = first !== undefined && this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    return all;
  }

  async #arrival(): Promise<void> {
    this.#watchdog.wait();
    if (this.#response.isPaused()) this.#response.resume();
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#watchdog.rest();
  }

  #end(failure?: Error): void {
    if (!this.#isOver) this.#failure = failure;
    this.#isOver = true;
    this.#wake();
  }
}
