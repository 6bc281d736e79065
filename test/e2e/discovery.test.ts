import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeEngine } from '../../libs/inference/testing/fake-engine.js';
import { App, FAST } from './platform.js';

const NOTHING = { vllm: false, sglang: false, llamaServer: false, ollama: false, lmStudio: false };
const stops: (() => Promise<unknown>)[] = [];
/** Without engines of its own, it looks at ports of this machine. */
let looking: App;
/** It has engines, and so looks for none. */
let configured: App;
/** What is found, and two ports: of what will be there later, and of a page. */
let found: App;
let later: number;
let page: number;

beforeAll(async () => {
  const listed = [{ id: 'gpt-oss-a', max_model_len: 4_096 }, { id: 'gpt-oss-b' }, { id: 'named' }];
  const [one, two, unknown] = [
    await listing(listed),
    await listing(listed),
    await listing([{ id: 'text-embedding-3' }]),
  ];
  const pages = await FakeEngine.start(() => undefined);
  stops.push(() => pages.stop());
  page = portOf(pages);
  later = await freePort();
  found = await App.start('engine', ['--port', '0', '--model', NAME, '--context', '100000', ...FAST]);
  stops.push(() => found.stop());
  configured = await gateway([
    `discovery: ${JSON.stringify({ ...NOTHING, vllm: portOf(found) })}`,
    'engines:',
    `  one: { url: "http://127.0.0.1:${one}" }`,
    `  two: { url: "http://127.0.0.1:${two}" }`,
    `  silent: { url: "http://127.0.0.1:${two}", offersListed: false }`,
    'models:',
    '  mine: { engine: one, engineModel: gpt-oss-b, aliases: [gpt-oss-a] }',
    '  gone: { engine: two, engineModel: gpt-oss-x }',
  ]);
  const ports = { vllm: portOf(found), sglang: page, llamaServer: unknown, ollama: portOf(configured) };
  looking = await gateway(
    [`discovery: ${JSON.stringify({ ...ports, lmStudio: later })}`],
    `--sim=${FAST.join(' ')}`,
  );
});
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const NAME = 'openai/gpt-oss-20b';

async function gateway(config: readonly string[], ...args: readonly string[]): Promise<App> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const file = join(folder, 'turnpike.yaml');
  writeFileSync(file, ['port: 0', ...config].join('\n'));
  const app = await App.start('gateway', ['--config', file, ...args]);
  stops.push(() => app.stop());
  rmSync(folder, { recursive: true, force: true });
  return app;
}

/** An engine that lists these, and answers nothing. */
async function listing(data: readonly object[], port = 0): Promise<number> {
  const body = JSON.stringify({
    object: 'list',
    data: data.map((model) => ({ owned_by: 'vllm', ...model })),
  });
  const server = createServer((request, response) => {
    response.writeHead(request.method === 'GET' ? 200 : 500).end(body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  stops.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
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
    expect(looking.output()).toContain(`found vllm on port ${portOf(found)}: ${NAME}\n`);
    expect(looking.output()).toMatch(/^turnpike ready on \S+ \(models: sim, openai\/gpt-oss-20b\)$/m);
    for (const path of [NAME, encodeURIComponent(NAME)]) {
      const one = await fetch(`${looking.url}/v1/models/${path}`);
      expect(await one.json()).toMatchObject({ id: NAME, object: 'model' });
    }
    const answer = await fetch(`${looking.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: NAME, input: 'hello [sim reason=0]' }),
    });
    expect(await answer.json()).toMatchObject({ model: NAME, status: 'completed' });
    const health = await (await fetch(`${looking.url}/health`)).text();
    expect(JSON.parse(health)).toMatchObject({ status: 'ok', engines: { sim: 'ready', vllm: 'ready' } });
  });

  it('what is no engine is left alone: another Turnpike, pages, and models nobody knows how to speak to', async () => {
    expect(await models(looking)).toEqual(['sim', NAME]);
    for (const port of [portOf(configured), page]) expect(looking.output()).not.toContain(`port ${port}`);
  });

  it('one that is started later is found later', async () => {
    await listing([{ id: 'gpt-oss-late' }], later);
    while (!(await models(looking)).includes('gpt-oss-late'))
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(looking.output()).toContain(`found lm-studio on port ${later}: gpt-oss-late\n`);
  });
});

describe('with engines in the configuration', () => {
  it('nothing is looked for, and what they list and nobody named is offered', async () => {
    const offered = ['mine', 'gpt-oss-a', 'gone', 'one/gpt-oss-a', 'two/gpt-oss-a', 'gpt-oss-b'];
    expect(await models(configured)).toEqual(offered);
  });

  it('a model that is named and that its engine does not list is told to who runs it', () => {
    const line = configured
      .output()
      .split('\n')
      .filter((each) => each.includes('does not list'));
    expect(line.map((each) => JSON.parse(each) as object)).toMatchObject([
      { engine: 'two', missing: ['gpt-oss-x'], listed: ['gpt-oss-a', 'gpt-oss-b', 'named'] },
    ]);
  });
});
