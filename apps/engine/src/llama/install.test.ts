import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Installation, loadNodeLlamaCpp } from './install.js';

let cache: string;
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'turnpike-install-'));
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

/** Writes a package where npm would. */
function fakeNpm(runs: (readonly string[])[]): Installation['npm'] {
  return async (args) => {
    runs.push(args);
    const prefix = args[args.indexOf('--prefix') + 1] ?? '';
    const folder = join(prefix, 'node_modules/node-llama-cpp/dist');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(prefix, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'index.js'), 'export const getLlama = () => "a llama";');
  };
}

describe('loadNodeLlamaCpp', () => {
  it('installs pinned versions for this machine once, without their scripts, and says so', async () => {
    const runs: (readonly string[])[] = [];
    const said: string[] = [];
    const installation = {
      cache,
      machine: 'linux-x64',
      say: (line: string) => void said.push(line),
      npm: fakeNpm(runs),
    };
    for (let i = 0; i < 2; i++) {
      const llamaCpp = (await loadNodeLlamaCpp(installation)) as unknown as { getLlama: () => string };
      expect(llamaCpp.getLlama()).toBe('a llama');
    }
    expect(runs).toHaveLength(1);
    expect(runs[0]).toEqual(expect.arrayContaining(['--omit=optional', '--ignore-scripts']));
    expect(runs[0]?.slice(-2)).toEqual(['node-llama-cpp@3.21.1', '@node-llama-cpp/linux-x64@3.21.1']);
    expect(said.join('\n')).toMatch(/installing node-llama-cpp 3\.21\.1 .*\n.*is installed/);
    expect(readdirSync(cache)).toEqual(['node-llama-cpp-3.21.1-linux-x64']);
  });

  it('leaves nothing of an install that failed, and says what to do', async () => {
    const npm = () => Promise.reject(new Error('npm ended with 1'));
    const failed = loadNodeLlamaCpp({ cache, machine: 'linux-x64', say: () => undefined, npm });
    await expect(failed).rejects.toThrow(/could not be installed: npm ended with 1.*registry/);
    expect(readdirSync(cache)).toEqual([]);
  });

  it('does not mind another one that was faster', async () => {
    const runs: (readonly string[])[] = [];
    const installation = { cache, machine: 'linux-x64', say: () => undefined, npm: fakeNpm(runs) };
    await Promise.all([loadNodeLlamaCpp(installation), loadNodeLlamaCpp(installation)]);
    expect(runs).toHaveLength(2);
    expect(readdirSync(cache)).toHaveLength(1);
  });

  it('refuses a machine that nothing is built for', async () => {
    const installation = { cache, machine: 'aix-ppc64', say: () => undefined, npm: fakeNpm([]) };
    await expect(loadNodeLlamaCpp(installation)).rejects.toThrow('no program for aix-ppc64');
  });
});
