import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** What is asked of the operating system. */
export interface SystemCalls {
  readonly write?: typeof writeSync;
  /** Brings a file to the disk. */
  readonly datasync?: typeof fdatasync;
}

/** One file of a log that is written to. A line is in it whole, or not at all. */
export class SegmentFile {
  readonly name: string;
  readonly #folder: string;
  readonly #calls: Required<SystemCalls>;
  readonly #fd: number;
  #isKnown = false;
  #bytes = 0;
  #isDirty = false;
  #syncing: Promise<void> | undefined;

  /**
   * @throws Error when the file is there already with something in it, or cannot be made
   */
  constructor(folder: string, name: string, calls: SystemCalls = {}) {
    this.name = name;
    this.#calls = { write: writeSync, datasync: fdatasync, ...calls };
    this.#folder = folder;
    this.#fd = openSync(join(folder, name), 'a', 0o600);
    // Of a process that died before its first line there may be an empty one.
    if (fstatSync(this.#fd).size === 0) return;
    closeSync(this.#fd);
    throw new Error(`the segment ${name} is there already`);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Hands a line to the operating system, where it survives the end of this process.
   * @throws Error ENOSPC and the like; nothing of the line is left behind then
   */
  append(line: Buffer): void {
    try {
      for (let at = 0; at < line.length;) at += this.#calls.write(this.#fd, line, at);
    } catch (thrown) {
      ftruncateSync(this.#fd, this.#bytes);
      throw thrown;
    }
    this.#bytes += line.length;
    this.#isDirty = true;
  }

  /** Brings what was written to the disk; resolves when it is there. One call at a time reaches the disk. */
  async sync(): Promise<void> {
    while (this.#isDirty || this.#syncing !== undefined) {
      this.#syncing ??= this.#syncOnce().finally(() => (this.#syncing = undefined));
      await this.#syncing;
    }
  }

  /** Closes it, with everything on the disk. */
  async close(): Promise<void> {
    try {
      await this.sync();
    } finally {
      closeSync(this.#fd);
    }
  }

  async #syncOnce(): Promise<void> {
    this.#isDirty = false;
    try {
      await new Promise<void>((resolve, reject) => {
        this.#calls.datasync(this.#fd, (error) => (error === null ? resolve() : reject(error)));
      });
      if (this.#isKnown) return;
      // After a power cut the file is only found if its name has reached the disk as well.
      const directory = await open(this.#folder, 'r');
      await directory.sync().finally(() => directory.close());
      this.#isKnown = true;
    } catch (thrown) {
      // What has not reached the disk is to be tried again.
      this.#isDirty = true;
      throw thrown;
    }
  }
}
