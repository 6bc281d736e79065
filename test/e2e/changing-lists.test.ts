import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { harmony } from '@turnpike/formats';
import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { configSchema } from '../../apps/gateway/src/config/schema.js';
import { Lookout } from '../../apps/gateway/src/routing/lookout.js';
import { ModelCatalogue } from '../../apps/gateway/src/routing/model-catalogue.js';
import { createGateway } from '../../apps/gateway/src/start.js';
import {
  begin,
  FakeEngine,
  sse,
  tokens,
  type SeenRequest,
} from '../../libs/inference/testing/fake-engine.js';
import { delta } from '../../libs/inference/testing/message-server.js';
import { idsOf } from '../cases/scripted-engine.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

/** How often a list is read, and how soon once a request has found it wrong, in ms. */
const STEADY_MS = 15_000;
const DOUBTED_MS = 1_000;
/** Shorter than what a look waits for. */
const STEP_MS = 500;

interface Body {
  readonly model?: string;
  readonly prompt?: number[];
  readonly input_ids?: number[];
  readonly messages?: unknown[];
}

const SAID = idsOf('<|channel|>final<|message|>said<|return|>');

/** An engine that answers for what it serves, and for nothing else, as vLLM and Ollama do; also an SGLang. */
class Server {
  serves: string[] = [];
  #owner = 'vllm';
  /** Held back until it resolves. */
  until: Promise<void> = Promise.resolve();
  readonly prompts: string[] = [];
  fake!: FakeEngine;

  static async start(...serves: string[]): Promise<Server> {
    const server = new Server();
    server.fake = await FakeEngine.start((seen) => server.#answer(seen));
    server.list(serves);
    return server;
  }

  /** Serves these from now on, and lists them. */
  list(serves: string[], owner = 'vllm', fields: object = {}): void {
    this.serves = serves;
    this.#owner = owner;
    const data = serves.map((id) => ({ id, owned_by: owner, ...fields }));
    this.fake.pages.set('/v1/models', { object: 'list', data });
  }

  async #answer({ path, body, response }: SeenRequest): Promise<void> {
    const { model, prompt, input_ids, messages } = JSON.parse(body) as Body;
    if (model !== undefined && !this.serves.includes(model)) {
      const error = { message: `The model \`${model}\` does not exist.`, type: 'NotFoundError', code: 404 };
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
      return;
    }
    const ids = prompt ?? input_ids;
    this.prompts.push(ids === undefined ? JSON.stringify(messages) : harmony().tokenizer.decode(ids));
    await this.until;
    begin(response);
    response.end(sse(this.#said(path), '[DONE]'));
  }

  #said(path: string | undefined): unknown {
    if (path === '/v1/chat/completions') return delta({ content: 'said' }, 'stop');
    if (this.#owner !== 'sglang') return tokens(SAID, 'stop');
    // Its `/v1/completions` takes ids and says none.
    if (path !== '/generate') return { choices: [{ index: 0, text: 'said', finish_reason: 'stop' }] };
    return {
      text: 'x',
      output_ids: SAID,
      meta_info: { finish_reason: { type: 'stop' }, completion_tokens: SAID.length },
    };
  }
}

const KEY = `/tmp/turnpike-changing-lists-${process.pid}.key`;
let one: Server;
let two: Server;
/** Where the gateway looks for an engine on this machine. */
let found: Server;
let app: NestExpressApplication;
let url: string;
let client: SocketClient;
const look = jest.spyOn(Lookout.prototype, 'look');

beforeAll(async () => {
  [one, two, found] = await Promise.all([
    Server.start('gpt-oss-a', 'gpt-oss-b', 'mine'),
    Server.start('mine'),
    Server.start('gpt-oss-found'),
  ]);
  const nothing = { sglang: false, llamaServer: false, ollama: false, lmStudio: false };
  const config = configSchema.parse({
    port: 0,
    discovery: { vllm: Number(new URL(found.fake.url).port), ...nothing },
    engines: {
      one: { url: one.fake.url, structuredOutputs: false },
      two: { url: two.fake.url, structuredOutputs: false },
    },
    models: {
      named: { engine: 'one', engineModel: 'mine' },
      both: { engine: ['one', 'two'], engineModel: 'mine', format: 'harmony' },
    },
    store: { kind: 'memory' },
    sealingKeyFile: KEY,
    log: 'silent',
  });
  app = await createGateway(config);
  // Of all that the gateway does, only what it does later is turned by hand.
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
    ],
  });
  await app.get(ModelCatalogue).start(() => undefined);
  await app.listen(0, '127.0.0.1');
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});
afterAll(async () => {
  jest.useRealTimers();
  look.mockRestore();
  await app.close();
  await Promise.all([one, two, found].map(({ fake }) => fake.stop()));
  rmSync(KEY, { force: true });
});
beforeEach(async () => {
  client = await SocketClient.connect(url);
});
afterEach(async () => {
  client.close();
  one.list(['gpt-oss-a', 'gpt-oss-b', 'mine']);
  two.list(['mine']);
  found.list(['gpt-oss-found']);
  await refresh();
});

/** What is due within so many ms of looks at engines is done; no time goes by while one is under way. */
async function refresh(ms = STEADY_MS): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    const before = look.mock.results.length;
    jest.advanceTimersByTime(STEP_MS);
    await Promise.all(look.mock.results.slice(before).map(({ value }) => value as Promise<number>));
    await setImmediate();
  }
}

async function listed(): Promise<string[]> {
  const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

const standings = async () => {
  const { engines } = (await (await fetch(`${url}/health`)).json()) as { engines: Record<string, string> };
  return engines;
};

/** A turn that is answered; gives its id. */
async function answered(model: string, input: string, previous_response_id?: string): Promise<string> {
  const events = await client.create({ model, input, previous_response_id });
  expect(textOf(events)).toBe('said');
  expect(terminalOf(events).response).toMatchObject({ model, status: 'completed' });
  return terminalOf(events).response.id;
}

const NOT_FOUND = (model: string) => ({
  type: 'error',
  status: 404,
  error: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    param: 'model',
    message: `The model '${model}' does not exist.`,
  },
});

describe('a model that its engine does not list any more', () => {
  it('is not found at the next turn of a chain, whose connection goes on, and is there again with the list', async () => {
    const id = await answered('gpt-oss-a', 'first');
    one.list(['gpt-oss-b', 'mine']);
    await refresh();
    expect(await listed()).not.toContain('gpt-oss-a');
    expect((await fetch(`${url}/v1/models/gpt-oss-a`)).status).toBe(404);
    const [error] = await client.create({ model: 'gpt-oss-a', input: 'second', previous_response_id: id });
    expect(error).toMatchObject(NOT_FOUND('gpt-oss-a'));
    const http = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-oss-a', input: 'second', previous_response_id: id }),
    });
    expect([http.status, await http.json()]).toMatchObject([404, { error: { code: 'model_not_found' } }]);
    // The conversation is not the model's.
    await answered('gpt-oss-b', 'elsewhere', id);
    expect(one.prompts.at(-1)).toContain('first');
    one.list(['gpt-oss-a', 'gpt-oss-b', 'mine']);
    await refresh();
    await answered('gpt-oss-a', 'third', id);
    expect(one.prompts.at(-1)).toMatch(/first[^]*said[^]*third/);
  });

  it('answers the turn that is under way, and not what that is steered to', async () => {
    let release: () => void = () => undefined;
    one.until = new Promise((resolve) => (release = resolve));
    const before = one.prompts.length;
    client.send({ type: 'response.create', model: 'gpt-oss-a', input: 'first' });
    while (one.prompts.length === before) await setImmediate();
    const id = client.events[0]?.response?.id ?? '';
    one.list(['gpt-oss-b', 'mine']);
    await refresh();
    client.send({ type: 'response.steer', previous_response_id: id, input: 'second' });
    await client.until(() => client.events.some(({ type }) => type === 'response.steer.accepted'));
    release();
    await client.until(() => client.events.some(({ type }) => type === 'response.steer.failed'));
    const ends = client.events.filter(({ type }) =>
      /^(error|response\.(completed|incomplete|failed))$/.test(type),
    );
    expect(ends).toMatchObject([{ type: 'response.incomplete', response: { id } }]);
    expect(client.events.at(-1)).toMatchObject({
      error: { code: 'successor_creation_failed' },
      steer: { previous_response_id: id, input: [{ content: [{ text: 'second' }] }] },
    });
    await answered('gpt-oss-b', 'third', id);
  });
});

describe('a model that an engine lists from now on', () => {
  it('answers, also in a chain that began elsewhere', async () => {
    const id = await answered('gpt-oss-a', 'first');
    const [error] = await client.create({ model: 'gpt-oss-new', input: 'second' });
    expect(error).toMatchObject(NOT_FOUND('gpt-oss-new'));
    one.list(['gpt-oss-a', 'gpt-oss-b', 'mine', 'gpt-oss-new']);
    await refresh();
    expect(await listed()).toContain('gpt-oss-new');
    await answered('gpt-oss-new', 'second', id);
    expect(one.prompts.at(-1)).toMatch(/first[^]*said[^]*second/);
  });

  it('under another name than before takes the place of that', async () => {
    const id = await answered('gpt-oss-a', 'first');
    one.list(['gpt-oss-a-2', 'gpt-oss-b', 'mine']);
    await refresh();
    const names = await listed();
    expect([names.includes('gpt-oss-a'), names.includes('gpt-oss-a-2')]).toEqual([false, true]);
    const [error] = await client.create({ model: 'gpt-oss-a', input: 'second', previous_response_id: id });
    expect(error).toMatchObject(NOT_FOUND('gpt-oss-a'));
    await answered('gpt-oss-a-2', 'second', id);
    expect(one.prompts.at(-1)).toMatch(/first[^]*said[^]*second/);
  });
});

describe('an engine that does not have a model which it was known to have', () => {
  it('fails the response, is asked for its list soon, and is none the worse for its other models', async () => {
    const id = await answered('gpt-oss-a', 'first');
    one.list(['gpt-oss-b', 'mine']);
    for (let count = 0; count < 6; count++) {
      const events = await client.create({ model: 'gpt-oss-a', input: 'second', previous_response_id: id });
      expect(terminalOf(events)).toMatchObject({
        type: 'response.failed',
        response: {
          error: {
            code: 'server_error',
            message: 'The inference engine does not serve this model right now.',
          },
          output: [],
          usage: { output_tokens: 0 },
        },
      });
    }
    expect(await standings()).toMatchObject({ one: 'ready' });
    await refresh(DOUBTED_MS);
    const [error] = await client.create({ model: 'gpt-oss-a', input: 'second', previous_response_id: id });
    expect(error).toMatchObject(NOT_FOUND('gpt-oss-a'));
    await answered('gpt-oss-b', 'second', id);
  });

  it('keeps a model in the list that the configuration names', async () => {
    const id = await answered('named', 'first');
    one.list(['gpt-oss-a', 'gpt-oss-b']);
    await refresh();
    expect(await listed()).toContain('named');
    const events = await client.create({ model: 'named', input: 'second', previous_response_id: id });
    expect(terminalOf(events)).toMatchObject({ type: 'response.failed' });
    one.list(['gpt-oss-a', 'gpt-oss-b', 'mine']);
    await answered('named', 'second', id);
  });

  it('is stood in for by a replica that has it', async () => {
    const id = await answered('both', 'where?');
    const [home, other] = one.prompts.at(-1)?.includes('where?') === true ? [one, two] : [two, one];
    home.list(home.serves.filter((name) => name !== 'mine'));
    await answered('both', 'second', id);
    expect(other.prompts.at(-1)).toMatch(/where\?[^]*said[^]*second/);
    expect(await standings()).toMatchObject({ one: 'ready', two: 'ready' });
  });
});

describe('another engine at the address of one', () => {
  it('that is spoken to in messages gets the conversation of a chain in messages, and the one after it in ids', async () => {
    const first = await answered('gpt-oss-found', 'first');
    found.list(['gpt-oss-found'], 'library');
    await refresh();
    const second = await answered('gpt-oss-found', 'second', first);
    expect(JSON.parse(found.prompts.at(-1) ?? '')).toMatchObject([
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'said' },
      { role: 'user', content: 'second' },
    ]);
    found.list(['gpt-oss-found'], 'vllm');
    await refresh();
    await answered('gpt-oss-found', 'third', second);
    expect(found.prompts.at(-1)).toMatch(
      /first[^]*said[^]*second[^]*said[^]*third<\|end\|><\|start\|>assistant$/,
    );
  });

  it('of another kind is spoken to as that one', async () => {
    const first = await answered('gpt-oss-found', 'first');
    found.list(['gpt-oss-found'], 'sglang');
    await refresh();
    const second = await answered('gpt-oss-found', 'second', first);
    expect(found.prompts.at(-1)).toMatch(/first[^]*said[^]*second/);
    found.list(['gpt-oss-found'], 'vllm');
    await refresh();
    await answered('gpt-oss-found', 'third', second);
  });

  it('with a smaller context is not given more than that holds', async () => {
    const id = await answered('gpt-oss-found', 'first');
    found.list(['gpt-oss-found'], 'vllm', { max_model_len: 20 });
    await refresh();
    const events = await client.create({ model: 'gpt-oss-found', input: 'x', previous_response_id: id });
    expect(terminalOf(events).response.error).toMatchObject({ code: 'context_length_exceeded' });
  });
});

describe('an engine whose list cannot be read for a while', () => {
  it.each<[string, unknown]>([
    ['an error', 500],
    ['a page that is gone', 404],
    ['no time', 503],
    ['no JSON', Buffer.from('<html>')],
    ['half a list', Buffer.from('{"object":"list","data":[{"id":"gpt-')],
    ['an error in a 200', { error: { message: 'not now' } }],
    ['no list', { object: 'list', data: 7 }],
    ['nothing', Buffer.alloc(0)],
  ])('with %s keeps the models it had', async (_, page) => {
    const id = await answered('gpt-oss-a', 'first');
    const before = await listed();
    one.fake.pages.set('/v1/models', page);
    await refresh();
    expect(await listed()).toEqual(before);
    await answered('gpt-oss-a', 'second', id);
  });

  it.each<[string, unknown]>([
    ['an empty one', { object: 'list', data: [] }],
    ['that of an Ollama without models', { object: 'list', data: null }],
  ])('but not with %s', async (_, page) => {
    one.fake.pages.set('/v1/models', page);
    await refresh();
    expect(await listed()).toEqual(['named', 'both', 'gpt-oss-found']);
  });
});
