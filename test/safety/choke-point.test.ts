import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { EngineClient } from '@turnpike/inference';
import type { TurnContext } from '@turnpike/turns';
import { testSafety } from '../../apps/gateway/testing/safety.js';
import { ClearedEngine } from '../../apps/gateway/src/turn/cleared-engine.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Sources that run in the gateway. */
function sources(): { file: string; text: string }[] {
  const names = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'apps/gateway/src', 'libs'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  return names
    .split('\n')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !/\/testing\//.test(file))
    .map((file) => ({ file, text: readFileSync(ROOT + file, 'utf8') }));
}

const filesWith = (pattern: RegExp) =>
  sources().flatMap(({ file, text }) => (pattern.test(text) ? [file] : []));

/** A new way to an engine has to come through {@link ClearedEngine}, and is then added here and to the entry points. */
describe('the way to an engine', () => {
  it('is called in these places, and each has a verdict', () => {
    const calls = filesWith(/\.(generate|converse)\(/).filter((file) => file.startsWith('apps/gateway/'));
    expect(calls).toEqual([
      'apps/gateway/src/turn/cleared-engine.ts',
      'apps/gateway/src/turn/message-generations.ts',
      'apps/gateway/src/turn/racing-engine.ts',
      'apps/gateway/src/turn/token-generations.ts',
    ]);
  });

  it('is made for a chain in these places', () => {
    expect(filesWith(/ClearedEngine\.of\(/)).toEqual([
      'apps/gateway/src/turn/answering.ts',
      'apps/gateway/src/turn/compacting.ts',
    ]);
    expect(filesWith(/\bsample\(\{/)).toEqual(['apps/gateway/src/turn/answering.ts']);
  });

  it('takes prompts of its chain and no others', () => {
    const { gate, safety } = testSafety();
    const engine: EngineClient = {
      name: 'e',
      generate: () => {
        throw new Error('the engine was called');
      },
      capabilities: () => Promise.reject(new Error('the engine was asked')),
      close: () => Promise.resolve(),
    };
    const artifacts = new Map<string, unknown>([
      ['routing', { engine }],
      ['safety', safety.advance(undefined, noTurn())],
    ]);
    const cleared = ClearedEngine.of(artifacts, gate);
    const request = { prompt: { length: 1, json: [] } } as never;
    expect(() => cleared.generate(request, new AbortController().signal)).toThrow('prompts of one chain');
  });
});

function noTurn(): never {
  const turn: Partial<TurnContext> = { items: [], known: 0, phase: 'input', history: () => [] };
  const request = { tools: [], toolsKey: '[]', text: { format: { type: 'text' } }, store: false };
  return { ...turn, id: 'r', tenant: 't', request, count: () => undefined } as never;
}
