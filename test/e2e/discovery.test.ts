import { afterEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeEngine } from '../../libs/inference/testing/fake-engine.js';
import { App, FAST } from './platform.js';

const NOTHING = { vllm: false, sglang: false, llamaServer: false, ollama: false, lmStudio: false };
const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function gateway(config: readonly string[], ...args: readonly string[]): Promise<App> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const file = join(folder, 'turnpike.yaml');
  writeFileSync(file, ['port: 0', ...config].join('\n'));
  const app = await App.start('gateway', ['--config', file, ...args]);
  stops.push(() => app.stop());
  rmSync(folder, { recursive: true, force: true });
  return app;
}

/** A gateway without engines of its own, which looks at these ports of this machine. */
const lookingAt = (ports: Partial<Record<keyof typeof NOTHING, number>>) =>
  gateway([`discovery: ${JSON.stringify({ ...NOTHING, ...ports })}`], `--sim=${FAST.join(' ')}`);

async function engine(...args: readonly string[]): Promise<App> {
  const app = await App.start('engine', [...args, '--context', '100000', ...FAST]);
  stops.push(() => app.stop());
  return app;
}

/** An engine that lists these, and answers nothing. */
async function listing(data: readonly object[]): Promise<number> {
  const fake = await FakeEngine.start(({ response }) => void response.writeHead(500).end());
  fake.pages.set('/v1/models', {
    object: 'list',
    data: data.map((model) => ({ owned_by: 'vllm', ...model })),
  });
  stops.push(() => fake.stop());
  return portOf(fake);
}

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);

async function models(app: App): Promise<string[]> {
  const { data } = (await (await fetch(`${app.url}/v1/models`)).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('without a configuration', () => {
  it('engines on this machine are found, said, and their models offered beside sim', async () => {
    const found = await engine('--port', '0', '--model', 'openai/gpt-oss-20b');
    const app = await lookingAt({ vllm: portOf(found) });
    expect(app.output()).toContain(`found vllm on port ${portOf(found)}: openai/gpt-oss-20b\n`);
    expect(app.output()).toMatch(/^turnpike ready on \S+ \(models: sim, openai\/gpt-oss-20b\)$/m);
    expect(await models(app)).toEqual(['sim', 'openai/gpt-oss-20b']);
    for (const path of ['openai/gpt-oss-20b', 'openai%2Fgpt-oss-20b']) {
      const one = await fetch(`${app.url}/v1/models/${path}`);
      expect(await one.json()).toMatchObject({ id: 'openai/gpt-oss-20b', object: 'model' });
    }
    const answer = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'openai/gpt-oss-20b', input: 'hello [sim reason=0]' }),
    });
    expect(await answer.json()).toMatchObject({ model: 'openai/gpt-oss-20b', status: 'completed' });
    const health = await (await fetch(`${app.url}/health`)).text();
    expect(JSON.parse(health)).toEqual({ status: 'ok', engines: { sim: 'ready', vllm: 'ready' } });
  });

  it('one that is started later is found later', async () => {
    const port = await freePort();
    const app = await lookingAt({ vllm: port });
    expect(await models(app)).toEqual(['sim']);
    await engine('--port', String(port), '--model', 'gpt-oss-late');
    while (!(await models(app)).includes('gpt-oss-late'))
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(app.output()).toContain(`found vllm on port ${port}: gpt-oss-late\n`);
  });

  it('what is no engine is left alone: another Turnpike, pages, and models nobody knows how to speak to', async () => {
    const other = await lookingAt({});
    const page = await FakeEngine.start(() => undefined);
    stops.push(() => page.stop());
    const unknown = await listing([{ id: 'text-embedding-3' }]);
    const app = await lookingAt({ vllm: portOf(other), sglang: portOf(page), llamaServer: unknown });
    expect(await models(app)).toEqual(['sim']);
    expect(app.output()).not.toContain(`port ${portOf(other)}`);
  });
});

describe('with engines in the configuration', () => {
  it('nothing is looked for, and what they list and nobody named is offered', async () => {
    const found = await engine('--port', '0', '--model', 'gpt-oss-found');
    const listed = [{ id: 'gpt-oss-a', max_model_len: 4_096 }, { id: 'gpt-oss-b' }, { id: 'named' }];
    const [one, two] = [await listing(listed), await listing(listed)];
    const app = await gateway([
      `discovery: ${JSON.stringify({ ...NOTHING, vllm: portOf(found) })}`,
      'engines:',
      `  one: { url: "http://127.0.0.1:${one}" }`,
      `  two: { url: "http://127.0.0.1:${two}" }`,
      `  silent: { url: "http://127.0.0.1:${two}", offersListed: false }`,
      'models: { mine: { engine: one, engineModel: gpt-oss-b, aliases: [gpt-oss-a] } }',
    ]);
    expect(await models(app)).toEqual(['mine', 'gpt-oss-a', 'one/gpt-oss-a', 'two/gpt-oss-a', 'gpt-oss-b']);
  });
});
