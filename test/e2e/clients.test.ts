import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPlatform, type App } from './platform.js';

let app: App;

beforeAll(async () => {
  app = await startPlatform();
});
afterAll(() => app.stop());

/** Runs a client as its users do, in a process of its own, and returns what it printed. */
async function run(name: string, env: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const path = fileURLToPath(new URL(`clients/${name}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path], {
    env: { ...process.env, OPENAI_BASE_URL: `${app.url}/v1`, ...env },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
}

describe('AI SDK', () => {
  it.each(['true', 'false'])('completes a tool loop with store: %s', async (STORE) => {
    const result = await run('ai-sdk.mjs', { STORE });
    expect(result).toMatchObject({ steps: 3 });
    expect(result['text']).toContain('The tool said: "Buy milk."');
    expect(result['totalTokens']).toBeGreaterThan(0);
  });
});

describe('Agents SDK', () => {
  it.each(['http', 'websocket'])('completes tool loops over %s', async (TRANSPORT) => {
    const from = app.output().length;
    const { whole, streamed, searched, items } = await run('agents.mjs', { TRANSPORT });
    expect(whole).toContain('The tool said: "Buy milk."');
    expect(streamed).toContain('The tool said: "Buy milk."');
    expect(searched).toContain('The tool said: "Buy honey."');
    expect(items).toEqual(expect.arrayContaining(['tool_search_call_item', 'tool_search_output_item']));
    const turns = app
      .output()
      .slice(from)
      .match(/"transport":"\w+"/g);
    expect(new Set(turns)).toEqual(new Set([`"transport":"${TRANSPORT}"`]));
  });
});
