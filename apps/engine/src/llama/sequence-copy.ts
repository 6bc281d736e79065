import { randomUUID } from 'node:crypto';
import { closeSync, openSync, statfsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type LlamaSequence } from './node-llama-cpp.js';

/** Puts what one sequence holds into another of the same context. */
export type CopySequence = (from: LlamaSequence, to: LlamaSequence) => Promise<void>;

/** Where files live in memory alone. */
const MEMORY = '/dev/shm';
/** What Linux calls the kind of file system that does. */
const TMPFS = 0x01021994;

/**
 * How sequences are copied on this machine. node-llama-cpp does it by files alone, and a conversation must not reach a disk:
 * so there has to be a file system in memory, and the file has no name that it could be found by or left behind under.
 * @returns undefined where there is no such thing: on all but Linux
 */
export function sequenceCopy(): CopySequence | undefined {
  return isInMemory(MEMORY) ? throughMemory : undefined;
}

async function throughMemory(from: LlamaSequence, to: LlamaSequence): Promise<void> {
  const name = join(MEMORY, `turnpike-engine-${randomUUID()}`);
  const file = openSync(name, 'wx', 0o600);
  try {
    unlinkSync(name);
    const path = `/proc/self/fd/${file}`;
    await from.saveStateToFile(path);
    // The risk is a file of another model.
    await to.loadStateFromFile(path, { acceptRisk: true });
  } finally {
    closeSync(file);
  }
}

function isInMemory(path: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return statfsSync(path).type === TMPFS;
  } catch {
    return false;
  }
}
