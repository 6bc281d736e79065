import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres, type PostgresService } from './services.js';
import { App, FAST, startGateway, startPlatform } from './platform.js';
import { Recorder } from './recorder.js';
import { SocketClient, terminalOf, textOf, type WireItem } from './socket-client.js';

type Gateway = Awaited<ReturnType<typeof startGateway>>;

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
/** Keys of two tenants. */
const KEYS = `keys: [{ name: a, tenant: a, sha256: "${sha256('key-a')}" }, { name: b, tenant: b, sha256: "${sha256('key-b')}" }]`;

let engine: App;
let recorder: Recorder;
let server: PostgresService;
beforeAll(async () => {
  [engine, server] = await Promise.all([
    App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]),
    startPostgres(),
  ]);
  recorder = await Recorder.start(engine.url);
});
afterAll(async () => {
  await recorder.stop();
  await engine.stop();
  await server.remove();
});

interface WireResponse {
  id: string;
  status: string;
  output: WireItem[];
  error?: { code: string; message: string; param: string | null };
}

/** A request, and what came back. */
async function call(
  url: string,
  { body, method, key }: { body?: object; method?: string; key?: string } = {},
): Promise<{ status: number; body: WireResponse & Record<string, unknown> }> {
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify({ model: 'sim', ...body }) }),
  });
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  return { status: answer.status, body: (await answer.json()) as WireResponse & Record<string, unknown> };
}

/** The line that a gateway logs of a response with this message, which may come a moment after its answer. */
async function logged(app: App, id: string, message: string): Promise<Record<string, unknown>> {
  for (;;) {
    for (const line of app.output().split('\n')) {
      if (!line.endsWith('}') || !line.includes(id)) continue;
      const entry = JSON.parse(line) as Record<string, unknown>;
      if (entry['response'] === id && entry['msg'] === message) return entry;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe.each(['sqlite', 'postgres'] as const)('a store on %s', (kind) => {
  let folder: string;
  let url: string;
  let running: Gateway[];
  beforeEach(async () => {
    running = [];
    folder = mkdtempSync(join(tmpdir(), 'turnpike-store-'));
    url = await server.database();
  });
  afterEach(async () => {
    for (const app of running) {
      await app.stop();
      app.cleanUp();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(...extra: string[]): Promise<Gateway> {
    const place = kind === 'sqlite' ? `path: "${join(folder, 'turnpike.db')}"` : `url: "${url}"`;
    const app = await startGateway(recorder.url, [`store: { kind: ${kind}, ${place} }`, ...extra]);
    running.push(app);
    return app;
  }

  it('loses nothing by kill -9, and goes on with the same prompt without encoding the old one', async () => {
    const before = await start();
    const client = await SocketClient.connect(before.url);
    const first = terminalOf(await client.create({ input: 'look [sim calls=2]', tools: TOOLS })).response;
    const output = [{ type: 'function_call_output', call_id: callOf(first.output), output: 'found 42' }];
    const second = terminalOf(
      await client.create({ input: output, tools: TOOLS, previous_response_id: first.id }),
    ).response;
    const next = {
      input: [{ type: 'function_call_output', call_id: callOf(second.output), output: 'and 43' }],
      tools: TOOLS,
      previous_response_id: second.id,
    };
    const fork = terminalOf(await client.create(next)).response;
    const warm = recorder.prompts.at(-1);
    const { work: warmWork } = await logged(before, fork.id, 'turn ended');
    const last = terminalOf(await client.create(next)).response;
    before.signal('SIGKILL');
    await before.ended();

    const after = await start();
    const again = (await call(`${after.url}/v1/responses`, { body: next })).body;
    expect(again.status).toBe('completed');
    expect(recorder.prompts.at(-1)).toEqual(warm);
    const { work } = await logged(after, again.id, 'turn ended');
    expect(work).toEqual({ ...(warmWork as object), routes_resolved: 1 });
    const behind = { input: 'go on', previous_response_id: last.id };
    expect((await call(`${after.url}/v1/responses`, { body: behind })).body.status).toBe('completed');
  });

  it('has a response for a second gateway the instant that response.completed is read', async () => {
    const gateways = await Promise.all([start(), start(), start()]);
    const clients = await Promise.all(gateways.map(({ url: each }) => SocketClient.connect(each)));
    let previous: string | undefined;
    for (let turn = 0; turn < 200; turn++) {
      const client = clients[turn % clients.length] as SocketClient;
      const events = await client.create({
        input: `turn ${turn} [sim calls=0]`,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      });
      expect(events.at(-1)?.type).toBe('response.completed');
      previous = terminalOf(events).response.id;
    }
    for (const client of clients) client.close();
  });

  it('retrieves, lists and deletes', async () => {
    const { url: base } = await start();
    const input = [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two', id: 'msg_mine' },
    ];
    const events = await (await SocketClient.connect(base)).create({ input });
    const { response } = terminalOf(events);
    const place = `${base}/v1/responses/${response.id}`;
    expect(await call(`${place}?include=message.output_text.logprobs`)).toEqual({
      status: 200,
      body: response,
    });

    const list = await call(`${place}/input_items`);
    const [two, one] = list.body['data'] as { id: string }[];
    expect(list).toMatchObject({
      status: 200,
      body: { object: 'list', first_id: 'msg_mine', last_id: one?.id, has_more: false },
    });
    expect(two).toEqual({
      type: 'message',
      id: 'msg_mine',
      role: 'user',
      content: [{ type: 'input_text', text: 'two' }],
    });
    expect(one?.id).toMatch(/^msg_[0-9a-f]{48}$/);
    const page = await call(`${place}/input_items?limit=1&order=asc`);
    expect(page.body).toMatchObject({ data: [one], first_id: one?.id, last_id: one?.id, has_more: true });
    const rest = await call(`${place}/input_items?limit=1&order=asc&after=${one?.id}`);
    expect(rest.body).toMatchObject({ data: [two], has_more: false });
    expect((await call(`${place}/input_items?after=${one?.id}`)).body).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });

    expect(await call(`${place}/input_items?order=up`)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', code: 'invalid_value', param: 'order' } },
    });

    const child = (
      await call(`${base}/v1/responses`, { body: { input: 'x', previous_response_id: response.id } })
    ).body;
    expect(await call(place, { method: 'DELETE' })).toEqual({
      status: 200,
      body: { id: response.id, object: 'response', deleted: true },
    });
    for (const gone of [
      await call(place),
      await call(`${place}/input_items`),
      await call(place, { method: 'DELETE' }),
    ]) {
      expect(gone).toMatchObject({ status: 404, body: { error: { code: 'response_not_found' } } });
    }
    const refused = { input: 'y', previous_response_id: response.id };
    expect(await call(`${base}/v1/responses`, { body: refused })).toMatchObject({
      status: 400,
      body: { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    });
    const behind = { input: 'y', previous_response_id: child.id };
    expect((await call(`${base}/v1/responses`, { body: behind })).body.status).toBe('completed');
  });

  it('shows one tenant nothing of another, on any path', async () => {
    const { url: base } = await start(KEYS);
    const responses = `${base}/v1/responses`;
    const { id } = (await call(responses, { key: 'key-a', body: { input: 'mine' } })).body;
    const socket = await SocketClient.connect(base, '/v1/responses', { authorization: 'Bearer key-b' });
    /** What each path says of an id, without the id. */
    const said = async (asked: string) => {
      const paths = [
        call(`${responses}/${asked}`, { key: 'key-b' }),
        call(`${responses}/${asked}`, { key: 'key-b', method: 'DELETE' }),
        call(`${responses}/${asked}/input_items`, { key: 'key-b' }),
        call(responses, { key: 'key-b', body: { input: 'x', previous_response_id: asked } }),
        socket.create({ input: 'x', previous_response_id: asked }),
      ];
      return JSON.stringify(await Promise.all(paths))
        .replaceAll(asked, 'ID')
        .replaceAll(/req_\w+/g, 'REQUEST');
    };
    for (const odd of ['%ff', '%00']) {
      expect((await call(`${responses}/${odd}`, { key: 'key-b' })).status).toBe(404);
    }
    expect(await said(id)).toBe(await said('resp_unknown'));
    expect((await call(`${responses}/${id}`, { key: 'key-a' })).status).toBe(200);
    for (const path of ['', '/input_items'])
      expect((await call(`${responses}/${id}${path}`)).status).toBe(401);
    expect((await call(`${responses}/${id}`, { method: 'DELETE' })).status).toBe(401);
  });

  it('never gets a store: false response', async () => {
    const app = await start();
    const client = await SocketClient.connect(app.url);
    const secret = 'marker-of-zero-retention';
    const hidden = terminalOf(
      await client.create({ input: `${secret} [sim calls=1]`, tools: TOOLS, store: false }),
    );
    const output = [
      { type: 'function_call_output', call_id: callOf(hidden.response.output), output: secret },
    ];
    const more = { input: output, tools: TOOLS, store: false, previous_response_id: hidden.response.id };
    const parent = terminalOf(await client.create(more)).response.id;
    const shown = terminalOf(await client.create({ input: 'kept', previous_response_id: parent })).response;
    const { body } = await call(`${app.url}/v1/responses`, { body: { input: secret, store: false } });
    for (const id of [hidden.response.id, body.id]) {
      expect((await call(`${app.url}/v1/responses/${id}`)).status).toBe(404);
    }
    expect((await call(`${app.url}/v1/responses/${shown.id}`)).status).toBe(200);
    // What it continued is not stored, so nobody else can go on with it.
    const elsewhere = { input: 'x', previous_response_id: shown.id };
    expect((await call(`${(await start()).url}/v1/responses`, { body: elsewhere })).status).toBe(400);

    expect(await bytesOf(kind === 'sqlite' ? folder : url)).toContain('kept');
    expect(await bytesOf(kind === 'sqlite' ? folder : url)).not.toContain(secret);
    expect(app.output()).not.toContain(secret);
  });
});

it('a database that is away at the start ends the gateway with a line that says so', async () => {
  const start = startGateway(engine.url, [
    'store: { kind: postgres, url: "postgres://nobody@127.0.0.1:1/none" }',
  ]);
  await expect(start).rejects.toThrow(
    /ended with 2:[^]*\nThe store cannot be opened: connect ECONNREFUSED[^\n]*\n$/,
  );
});

function callOf(output: readonly WireItem[]): string | undefined {
  return output.find(({ type }) => type === 'function_call')?.call_id;
}

/** Everything that is stored: the bytes of the files of a folder, or the rows of a Postgres database. */
async function bytesOf(place: string): Promise<string> {
  if (!place.startsWith('postgres:')) {
    return readdirSync(place)
      .map((name) => readFileSync(join(place, name)).toString('latin1'))
      .join('');
  }
  const client = new pg.Client({ connectionString: place });
  await client.connect();
  const tables = await Promise.all(
    ['responses', 'items', 'artifacts'].map((table) => client.query(`select * from ${table}`)),
  );
  await client.end();
  return JSON.stringify(tables.map(({ rows }) => rows as unknown[]));
}

it('a response that was deleted cannot be continued from the connection that made it, or any other', async () => {
  const app = await startPlatform();
  const [own, other] = [await SocketClient.connect(app.url), await SocketClient.connect(app.url)];
  const { id } = terminalOf(await own.create({ input: 'a' })).response;
  const child = terminalOf(await other.create({ previous_response_id: id, input: 'b' })).response.id;
  const deleted = await fetch(`${app.url}/v1/responses/${id}`, { method: 'DELETE' });
  expect(deleted.status).toBe(200);
  for (const client of [own, other]) {
    const [event] = await client.create({ previous_response_id: id, input: 'c' });
    expect(event?.error).toMatchObject({ code: 'previous_response_not_found' });
  }
  expect(textOf(await other.create({ previous_response_id: child, input: 'd' }))).toContain('message 3');
  own.close();
  other.close();
  await app.stop();
});
