import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { o200kHarmony } from '@turnpike/formats';
import {
  begin,
  FakeEngine,
  sse,
  tokens,
  type SeenRequest,
} from '../../libs/inference/testing/fake-engine.js';
import { App } from './platform.js';

/** Context that the smaller engines were started with, in tokens. */
const WINDOW = 400;
const MODEL = 'openai/gpt-oss-20b';

const stops: (() => Promise<unknown>)[] = [];
/** In front of engines that are each configured wrongly. */
let gateway: App;
/** Without a configuration, beside an engine that wants a key. */
let looking: App;
let lockedPort: number;

beforeAll(async () => {
  const small = await engine(onlyWithin(WINDOW), list('vllm', MODEL, { max_model_len: WINDOW }));
  const silentAboutIt = await engine(onlyWithin(WINDOW), list('tensorrt_llm', MODEL));
  const locked = await engine(() => undefined, 401);
  const elsewhere = await engine(() => undefined, 404);
  const messages = await engine(() => undefined, list('library', 'qwen3:8b'));
  const unnamed = await engine(() => undefined, list('vllm', 'Qwen/Qwen3-8B'));
  const foreign = await engine(
    ({ response }) => {
      response.writeHead(400).end('{"error":{"message":"Token id 200006 is out of vocabulary"}}');
    },
    list('vllm', 'Qwen/Qwen3-8B'),
  );
  lockedPort = Number(new URL(locked.url).port);
  const secret = locked.url.replace('http://', 'http://user:hidden@');
  gateway = await start([
    'engines:',
    `  small: { url: "${small.url}" }`,
    `  silentAboutIt: { url: "${silentAboutIt.url}" }`,
    `  locked: { url: "${secret}" }`,
    `  elsewhere: { url: "${elsewhere.url}/openai/" }`,
    `  gone: { url: "http://127.0.0.1:${await freePort()}" }`,
    `  messages: { url: "${messages.url}" }`,
    `  unnamed: { url: "${unnamed.url}" }`,
    `  foreign: { url: "${foreign.url}" }`,
    'models:',
    ...['small', 'silentAboutIt', 'locked', 'elsewhere', 'gone'].map(
      (name) => `  ${name}: { engine: ${name}, engineModel: ${MODEL} }`,
    ),
    '  messages: { engine: messages, engineModel: "qwen3:8b" }',
    '  foreign: { engine: foreign, engineModel: Qwen/Qwen3-8B }',
  ]);
  const off = { sglang: false, llamaServer: false, ollama: false, lmStudio: false };
  looking = await start([`discovery: ${JSON.stringify({ vllm: lockedPort, ...off })}`]);
});
afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function start(config: readonly string[]): Promise<App> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const file = join(folder, 'turnpike.yaml');
  writeFileSync(file, ['port: 0', ...config].join('\n'));
  const app = await App.start('gateway', ['--config', file]);
  stops.push(() => app.stop());
  rmSync(folder, { recursive: true, force: true });
  return app;
}

async function engine(answer: (seen: SeenRequest) => void, models: unknown): Promise<FakeEngine> {
  const fake = await FakeEngine.start(answer);
  fake.pages.set('/v1/models', models);
  stops.push(() => fake.stop());
  return fake;
}

function list(owner: string, id: string, extra: object = {}): object {
  return { object: 'list', data: [{ id, owned_by: owner, ...extra }] };
}

/** Refuses what asks for more tokens than there are, as vLLM does; says "yes" to anything else. */
function onlyWithin(window: number): (seen: SeenRequest) => void {
  const vocabulary = o200kHarmony();
  const control = (name: string) => vocabulary.controlId(`<|${name}|>`) ?? 0;
  const ids = [
    control('channel'),
    ...vocabulary.encode('final'),
    control('message'),
    ...vocabulary.encode('yes'),
    control('return'),
  ];
  return ({ body, response }) => {
    const { prompt, max_tokens: most } = JSON.parse(body) as { prompt: number[]; max_tokens: number };
    if (prompt.length + most > window) {
      const message = `'max_tokens' is too large: ${most}. This model's maximum context length is ${window} tokens.`;
      response.writeHead(400).end(JSON.stringify({ error: { message } }));
      return;
    }
    begin(response);
    response.end(sse(tokens(ids, 'stop'), '[DONE]'));
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function ask(model: string): Promise<unknown> {
  const body = JSON.stringify({ model, input: 'hello' });
  return (await fetch(`${gateway.url}/v1/responses`, { method: 'POST', body })).json();
}

interface Line {
  readonly engine?: string;
  readonly msg: string;
}

/** What the log says of an engine, but for what each of them has. */
function linesOf(app: App, name: string): Line[] {
  const lines = app.output().split('\n');
  return lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
    .filter(({ engine: of, msg }) => of === name && !/^engine (?:circuit|is known|lists its)/.test(msg));
}

/** What a process wrote comes later than its answer. */
async function logged(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('an engine that was started with less context than the configuration says', () => {
  it('is asked for no more than it says it has', async () => {
    expect(await ask('small')).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'yes' }] }],
    });
  });

  it('and does not say so: who runs it is told where to look', async () => {
    expect(await ask('silentAboutIt')).toMatchObject({ error: { code: 'context_length_exceeded' } });
    await logged(() => linesOf(gateway, 'silentAboutIt').some(({ msg }) => msg.includes('contextTokens')));
  });
});

describe('the log tells who runs it', () => {
  it.each([
    ['locked', { status: 401, msg: expect.stringMatching(/wants a key: apiKeyEnv/) }],
    ['elsewhere', { status: 404, msg: expect.stringMatching(/no list of models at its url/) }],
    ['gone', { reason: 'ECONNREFUSED', msg: 'engine cannot be reached' }],
    ['messages', { models: ['messages'], msg: expect.stringMatching(/has to be chat/) }],
    ['unnamed', { listed: ['Qwen/Qwen3-8B'], msg: expect.stringMatching(/models has to name them/) }],
  ])('at the start what is wrong: %s', (name, line) => {
    expect(linesOf(gateway, name)).toMatchObject([line]);
  });

  it.each([
    ['locked', /status 401: it wants a key/],
    ['elsewhere', /status 404: its url/],
    // It may just be tried again.
    ['gone', /no engine of the model 'gone' can be reached: gone|ECONNREFUSED/],
    ['messages', /takes no token ids/],
    ['foreign', /status 400: it does not know ids of the prompt, so the model's format/],
  ])('why a turn failed: %s', async (model, why) => {
    expect(await ask(model)).toMatchObject({ error: { type: 'server_error' } });
    await logged(() =>
      gateway
        .output()
        .split('\n')
        .some((line) => line.includes('"err"') && why.test(line)),
    );
  });

  it('and no password of a URL', () => {
    expect(gateway.output()).toContain(`"url":"http://127.0.0.1:${lockedPort}"`);
    expect(gateway.output()).not.toContain('hidden');
  });

  it('that something on this machine wants a key, where engines are looked for', () => {
    expect(looking.output()).toMatch(
      new RegExp(`"port":${lockedPort},"expected":"vllm","status":401,"msg":"[^"]*apiKeyEnv"`),
    );
  });
});
