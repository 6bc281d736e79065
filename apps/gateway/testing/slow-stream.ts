import { Duplex } from 'node:stream';

/** A connection whose other end reads only when told to. */
export class SlowStream extends Duplex {
  /** What each write to the other end held. */
  readonly writes: string[] = [];
  #release: (() => void) | undefined;

  override _read(): void {
    return;
  }

  override _writev(chunks: { chunk: Buffer }[], taken: () => void): void {
    this.writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString());
    this.#release = taken;
  }

  /** The other end reads everything that is on its way. */
  async release(): Promise<void> {
    while (this.#release !== undefined) {
      const release = this.#release;
      this.#release = undefined;
      release();
      await new Promise((resolve) => process.nextTick(resolve));
    }
  }
}

/** True when the promise is settled by now. */
export function settled(promise: Promise<unknown>): Promise<boolean> {
  const now = new Promise<boolean>((resolve) => process.nextTick(resolve, false));
  return Promise.race([promise.then(() => true), now]);
}
