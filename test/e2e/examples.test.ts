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

/** What an example prints. */
async function run(name: string): Promise<string> {
  const path = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
  const env = { ...process.env, OPENAI_BASE_URL: `${app.url}/v1` };
  return (await promisify(execFile)(process.execPath, [path], { env })).stdout;
}

describe('examples', () => {
  it('tool-loop.mjs answers from the tool output', async () => {
    const text = await run('tool-loop.mjs');
    expect(text).toContain('the model calls read_file(');
    expect(text).toContain('The tool said: "Buy milk."');
  });

  it('websocket.mjs prints the events of a turn', async () => {
    const text = await run('websocket.mjs');
    expect(text).toMatch(/^response\.created/);
    expect(text.trim()).toMatch(/response\.completed$/);
  });
});
