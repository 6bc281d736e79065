import { Worker } from 'node:worker_threads';
import { unpackIds, type PackedIds } from './packed-ids.js';
import { type Tokenizer } from './types.js';

/**
 * Texts of up to this many UTF-16 units in all are encoded at once on the calling thread: about 2 ms of ordinary
 * text and under 20 ms of the worst there is. The way to another thread and back would delay them by more than it
 * spares the event loop.
 */
export const INLINE_UNITS = 16_384;

/** What goes to the thread in one message: enough to hide the hand-over, about 10 ms of work. */
const SLICE_UNITS = 65_536;

interface Job {
  texts: readonly string[];
  ids: Int32Array[];
  resolve: (ids: Int32Array[]) => void;
  reject: (error: Error) => void;
}

/**
 * Encodes texts without holding up the event loop: small ones at once, large ones in a worker thread that is
 * started when it is first needed. Waiting jobs take turns slice by slice, so that a job of 10 MB does not make
 * one of 20 kB wait for it; a single text is never cut, because its ids would differ.
 */
export class TokenEncoder {
  private readonly waiting: Job[] = [];
  private running: Job | undefined;
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
   * `INLINE_UNITS` units, else a promise, which rejects when the thread fails or the encoder is closed.
   */
  encodeAll(texts: readonly string[]): Int32Array[] | Promise<Int32Array[]> {
    let units = 0;
    for (const text of texts) units += text.length;
    if (units <= INLINE_UNITS) return texts.map((text) => this.tokenizer.encode(text));
    if (this.closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      this.waiting.push({ texts, ids: [], resolve, reject });
      this.dispatch();
    });
  }

  /** Stops the thread; jobs that are not done reject. */
  async close(): Promise<void> {
    this.closed = true;
    const worker = this.worker;
    this.worker = undefined;
    for (const job of this.waiting.splice(0)) job.reject(closedError());
    this.running?.reject(closedError());
    this.running = undefined;
    await worker?.terminate();
  }

  /** Sends the next slice when the thread is free. */
  private dispatch(): void {
    if (this.running !== undefined) return;
    const job = this.waiting.shift();
    if (job === undefined) return;
    this.running = job;
    const from = job.ids.length;
    let end = from;
    for (let units = 0; end < job.texts.length; end++) {
      units += job.texts[end]?.length ?? 0;
      if (units > SLICE_UNITS && end > from) break;
    }
    this.worker ??= this.start();
    this.worker.postMessage(job.texts.slice(from, end));
  }

  private start(): Worker {
    const url = this.options.workerUrl ?? new URL('./encode.worker.js', import.meta.url);
    const worker = new Worker(url, { workerData: { vocabulary: this.tokenizer.name } });
    worker.on('message', (encoded: PackedIds) => this.collect(worker, encoded));
    worker.on('error', (error: Error) => this.fail(worker, error));
    worker.on('exit', () => this.fail(worker, new Error('The encoder thread ended')));
    worker.unref(); // it must not keep the process alive; last, because a message listener undoes it
    return worker;
  }

  private collect(worker: Worker, encoded: PackedIds): void {
    const job = this.running;
    if (worker !== this.worker || job === undefined) return;
    this.running = undefined;
    for (const list of unpackIds(encoded)) job.ids.push(list);
    if (job.ids.length === job.texts.length) job.resolve(job.ids);
    else this.waiting.push(job);
    this.dispatch();
  }

  /** A thread that failed takes the running job with it; the next job gets a new thread. */
  private fail(worker: Worker, error: Error): void {
    if (worker !== this.worker) return;
    this.worker = undefined;
    const job = this.running;
    this.running = undefined;
    job?.reject(error);
    this.dispatch();
  }
}

function closedError(): Error {
  return new Error('The token encoder is closed');
}
