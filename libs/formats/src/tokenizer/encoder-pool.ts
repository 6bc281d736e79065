import { Worker } from 'node:worker_threads';
import { type EncodeAnswer, type EncodeMessage, type EncoderData } from './encode-messages.js';
import { unpackIds } from './packed-ids.js';
import { type Tokenizer } from './types.js';

/**
 * Texts of up to this many UTF-16 units in all are encoded at once on the calling thread: about 2 ms of ordinary
 * text and under 20 ms of the worst there is. The way to another thread and back would delay them by more than it
 * spares the event loop.
 */
export const INLINE_UNITS = 16_384;

interface Job {
  readonly resolve: (ids: Int32Array[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Encodes texts without holding up the event loop: small ones at once, large ones in a worker thread that is
 * started when it is first needed. There they take turns ({@link EncodeQueue}), so that a job of 10 MB does not make
 * one of 20 kB wait for it.
 */
export class TokenEncoder {
  private readonly jobs = new Map<number, Job>();
  private lastId = 0;
  private worker: Worker | undefined;
  private closed = false;

  /**
   * @param options.workerUrl compiled worker module; by default the one beside this module, which exists only
   *   where this module is compiled as well
   */
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly options: { workerUrl?: URL } = {},
  ) {}

  /**
   * Ids of each text, control tokens in them read as text. A plain array when all texts together have at most
   * `INLINE_UNITS` units, else a promise, which rejects when the thread fails, when the encoder is closed, and with
   * the signal's reason when that ends first: the thread then stops working on them.
   */
  encodeAll(texts: readonly string[], signal?: AbortSignal): Int32Array[] | Promise<Int32Array[]> {
    let units = 0;
    for (const text of texts) units += text.length;
    if (units <= INLINE_UNITS) return texts.map((text) => this.tokenizer.encode(text));
    if (this.closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++this.lastId;
      const onAbort = () => {
        this.post({ id });
        this.take(id)?.reject(signal?.reason);
      };
      const settling = <T>(settle: (value: T) => void) => {
        return (value: T) => {
          signal?.removeEventListener('abort', onAbort);
          settle(value);
        };
      };
      this.jobs.set(id, { resolve: settling(resolve), reject: settling(reject) });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.post({ id, texts });
    });
  }

  /** Stops the thread; jobs that are not done reject. */
  async close(): Promise<void> {
    this.closed = true;
    const worker = this.worker;
    this.worker = undefined;
    this.rejectAll(closedError());
    await worker?.terminate();
  }

  private post(message: EncodeMessage): void {
    this.worker ??= this.start();
    this.worker.postMessage(message);
  }

  private start(): Worker {
    const url = this.options.workerUrl ?? new URL('./encode.worker.js', import.meta.url);
    const { source: vocabulary, fingerprint } = this.tokenizer;
    const worker = new Worker(url, { workerData: { vocabulary, fingerprint } satisfies EncoderData });
    worker.on('message', (answer: EncodeAnswer) => this.take(answer.id)?.resolve(unpackIds(answer)));
    worker.on('error', (error: Error) => this.fail(worker, error));
    worker.on('exit', () => this.fail(worker, new Error('The encoder thread ended')));
    worker.unref(); // it must not keep the process alive; last, because a message listener undoes it
    return worker;
  }

  /** The job that waits under this number, which it no longer does. */
  private take(id: number): Job | undefined {
    const job = this.jobs.get(id);
    this.jobs.delete(id);
    return job;
  }

  /** A thread that failed takes its jobs with it; the next job gets a new thread. */
  private fail(worker: Worker, error: Error): void {
    if (worker !== this.worker) return;
    this.worker = undefined;
    this.rejectAll(error);
  }

  private rejectAll(error: Error): void {
    const jobs = [...this.jobs.values()];
    this.jobs.clear();
    for (const job of jobs) job.reject(error);
  }
}

function closedError(): Error {
  return new Error('The token encoder is closed');
}
