import type { Writable } from 'node:stream';

/**
 * Resolves when a writable that asked for it has given away what it held, or is closed.
 * @param giveUp called when that takes longer than `timeoutMs`; closes the writable
 */
export function drained(writable: Writable, timeoutMs: number, giveUp: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(giveUp, timeoutMs);
    const done = () => {
      clearTimeout(timer);
      writable.off('drain', done);
      writable.off('close', done);
      resolve();
    };
    writable.once('drain', done);
    writable.once('close', done);
  });
}
