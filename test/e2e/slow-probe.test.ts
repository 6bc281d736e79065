import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { begin, FakeEngine, sse, tokens } from '../../libs/inference/testing/fake-engine.js';
import { idsOf } from '../cases/scripted-engine.js';
import { App } from './platform.js';
import { SocketClient, textOf } from './socket-client.js';

/** A vLLM that has not said yet what it can do. */
class SlowEngine {
  /** Resolves when it has been asked for the first time. */
  readonly asked: Promise<void>;
  times = 0;
  said = false;
  fake!: FakeEngine;
  #say: () => void = () => undefined;
  #onAsked: () => void = () => undefined;

  private constructor() {
    this.asked = new Promise((resolve) => (this.#onAsked = resolve));
  }

  static async start(): Promise<SlowEngine> {
    const engine = new SlowEngine();
    engine.fake = await FakeEngine.start(({ response }) => {
      begin(response);
      response.end(sse(tokens(idsOf('{}<|return|>'), 'stop'), '[DONE]'));
    });
    const answer = new Promise<number>((resolve) => (engine.#say = () => resolve(404)));
    engine.fake.pages.set('/inference/v1/generate', () => {
      engine.times++;
      engine.#onAsked();
      return answer;
    });
    return engine;
  }

  say(): void {
    this.said = true;
    this.#say();
  }
}

/** One for each test. */
const ENGINES = 3;
let engines: SlowEngine[];
let gateway: App;
let folder: string;
let engine: SlowEngine;
let model: string;
let taken = 0;

beforeAll(async () => {
  engines = await Promise.all(Array.from({ length: ENGINES }, () => SlowEngine.start()));
  folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const lines = ['port: 0', 'engines:'];
  for (const [index, { fake }] of engines.entries())
    lines.push(`  e${index}: { url: "${fake.url}", kind: vllm }`);
  lines.push('models:', ...engines.map((_, index) => `  m${index}: { engine: e${index} }`));
  writeFileSync(join(folder, 'turnpike.yaml'), lines.join('\n'));
  gateway = await App.start('gateway', ['--config', 'turnpike.yaml'], {}, folder);
});
afterAll(async () => {
  for (const each of engines) each.say();
  await gateway.stop();
  await Promise.all(engines.map(({ fake }) => fake.stop()));
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  const next = engines[taken];
  if (next === undefined) throw new Error('there are fewer engines than tests');
  engine = next;
  model = `m${taken++}`;
});

/** A request whose answer is bound to a schema where the engine can do that, which is asked first. */
const bound = () => ({
  model,
  input: 'x',
  reasoning: { effort: 'none' },
  text: { format: { type: 'json_schema', name: 'f', schema: { type: 'object' } } },
});

/** How the turns of this model have ended, once so many have. */
async function ended(count: number): Promise<string[]> {
  for (;;) {
    const lines = gateway.output().split('\n');
    const turns = lines.filter((line) => line.includes(`"model":"${model}"`) && line.includes('"states"'));
    if (turns.length >= count)
      return turns.map((line) => /(\w+)\+[\d.]+ \w+\+[\d.]+"/.exec(line)?.[1] ?? line);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Somebody else who waits for the same engine is answered when it has said what it can do, with an answer that is bound. */
async function expectAnswered(client: SocketClient): Promise<void> {
  expect([engine.said, engine.fake.requests.length]).toEqual([false, 0]);
  const answer = client.create(bound());
  await client.until(() => client.events.some(({ type }) => type === 'response.in_progress'));
  engine.say();
  expect(textOf(await answer)).toBe('{}');
  expect(engine.fake.requests.map(({ body }) => body)).toEqual([
    expect.stringContaining('"structured_outputs":{"json":{"type":"object"}}'),
  ]);
  // It is one question for all, which nobody has given up on in between.
  expect(engine.times).toBe(1);
}

it('a client that closes its WebSocket while the engine is asked for the first time what it can do is not held', async () => {
  const [client, other] = [await SocketClient.connect(gateway.url), await SocketClient.connect(gateway.url)];
  client.send({ type: 'response.create', ...bound() });
  await engine.asked;
  client.close();
  expect(await ended(1)).toEqual(['cancelled']);
  await expectAnswered(other);
  other.close();
});

it('nor is one that leaves its HTTP request', async () => {
  const other = await SocketClient.connect(gateway.url);
  const leave = new AbortController();
  const left = fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ ...bound(), stream: true }),
    signal: leave.signal,
  }).then(({ text }) => text);
  await engine.asked;
  leave.abort();
  await left.catch(() => undefined);
  expect(await ended(1)).toEqual(['cancelled']);
  await expectAnswered(other);
  other.close();
});

it('and one that interrupts its response reads the end of it, and goes on', async () => {
  const client = await SocketClient.connect(gateway.url);
  client.send({ type: 'response.create', ...bound() });
  await engine.asked;
  await client.until(() => client.events.some(({ type }) => type === 'response.created'));
  client.send({ type: 'response.interrupt', response_id: client.events[0]?.response?.id });
  await client.until(() => client.events.some(({ type }) => type === 'response.incomplete'));
  expect(client.events.at(-1)).toMatchObject({
    response: { incomplete_details: { reason: 'interrupted' }, output: [], usage: { output_tokens: 0 } },
  });
  await expectAnswered(client);
  client.close();
});
