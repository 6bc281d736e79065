import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** How a key is written: 32 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{43}=$/;

/**
 * The keys of a file, one a line, the sealing one first. A file that is not there is made, readable by its owner only,
 * with one random key; of several processes that start at once the first one's stays.
 * @throws Error when the file can be neither read nor made, or holds something else
 */
export function loadSealingKeys(path: string): Buffer[] {
  const lines = readOrMake(path)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const wrong = lines.findIndex((line) => !KEY.test(line));
  if (wrong >= 0 || lines.length === 0) {
    throw new Error(`${path} must hold sealing keys, one a line, each 32 bytes in base64.`);
  }
  return lines.map((line) => Buffer.from(line, 'base64'));
}

function readOrMake(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
  }
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 });
  try {
    // A link appears whole or not at all, and never replaces what another process made meanwhile.
    linkSync(draft, path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8');
}
