import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST, keysOf, startGateway } from './platform.js';
import { Recorder } from './recorder.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

let engine: App;
let recorder: Recorder;
let folder: string;
let gateway: Awaited<ReturnType<typeof startGateway>>;
let alice: OpenAI;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-conversations-'));
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
  recorder = await Recorder.start(engine.url);
  await start();
});
afterAll(async () => {
  await gateway.stop();
  gateway.cleanUp();
  await recorder.stop();
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  gateway = await startGateway(recorder.url, [
    `store: { kind: sqlite, path: "${join(folder, 'turnpike.db')}" }`,
    // Engines tell the prompts of tenants apart by what is made from this key.
    `sealingKeyFile: "${join(folder, 'sealing.key')}"`,
    ...keysOf('alice', 'bob'),
  ]);
  alice = new OpenAI({ apiKey: 'alice', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
}

interface Answer {
  status: number;
  allow: string | null;
  body: Record<string, unknown> & { error?: Record<string, unknown> };
}

async function ask(method: string, path: string, body?: unknown, key = 'alice'): Promise<Answer> {
  const answer = await fetch(gateway.url + path, {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  const allow = answer.headers.get('allow');
  return { status: answer.status, allow, body: (await answer.json()) as Answer['body'] };
}

const user = (content: string) => ({ role: 'user' as const, content });
const open = (key: string) =>
  SocketClient.connect(gateway.url, '/v1/responses', { authorization: `Bearer ${key}` });

describe('conversations with the openai SDK', () => {
  it('are made, read, changed and deleted', async () => {
    const made = await alice.conversations.create({ metadata: { topic: 'a' }, items: [user('hello')] });
    expect(made).toEqual({
      id: expect.stringMatching(/^conv_[0-9a-f]{48}$/),
      object: 'conversation',
      created_at: expect.any(Number),
      metadata: { topic: 'a' },
    });
    expect(Math.abs(made.created_at - Date.now() / 1000)).toBeLessThan(60);
    expect(await alice.conversations.retrieve(made.id)).toEqual(made);
    const changed = await alice.conversations.update(made.id, { metadata: { topic: 'b' } });
    expect(changed).toEqual({ ...made, metadata: { topic: 'b' } });
    expect((await alice.conversations.update(made.id, { metadata: null })).metadata).toEqual({});
    expect(await alice.conversations.delete(made.id)).toEqual({
      id: made.id,
      object: 'conversation.deleted',
      deleted: true,
    });
    await expect(alice.conversations.retrieve(made.id)).rejects.toMatchObject({
      status: 404,
      code: 'conversation_not_found',
      param: 'conversation_id',
    });
    expect(await alice.conversations.create()).toMatchObject({ metadata: {} });
    expect(await alice.conversations.create(null)).toMatchObject({ metadata: {} });
  });

  it('take items, list them in pages, and let go of them', async () => {
    const { id } = await alice.conversations.create();
    const added = await alice.conversations.items.create(id, {
      items: [
        user('one'),
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'found' },
      ],
    });
    expect(added).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: added.data[0]?.id,
      last_id: added.data[2]?.id,
    });
    expect(added.data[0]).toEqual({
      type: 'message',
      id: expect.stringMatching(/^msg_/),
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_text', text: 'one' }],
    });
    const listed: string[] = [];
    for await (const item of alice.conversations.items.list(id, { limit: 2, order: 'asc' }))
      listed.push(item.id ?? '');
    expect(listed).toEqual(added.data.map((item) => item.id));
    const newest = await alice.conversations.items.list(id, { limit: 1, include: [] });
    expect(newest.data).toEqual(added.data.slice(2));
    expect(newest.has_more).toBe(true);
    const item = { conversation_id: id };
    expect(await alice.conversations.items.retrieve(listed[1] ?? '', item)).toEqual(added.data[1]);
    expect(await alice.conversations.items.delete(listed[1] ?? '', item)).toMatchObject({
      id,
      object: 'conversation',
    });
    await expect(alice.conversations.items.retrieve(listed[1] ?? '', item)).rejects.toMatchObject({
      status: 404,
      code: 'item_not_found',
      param: 'item_id',
    });
    expect((await alice.conversations.items.list(id)).data).toHaveLength(2);
  });

  it('carry a dialogue, as JSON and as a stream', async () => {
    const { id } = await alice.conversations.create({ items: [user('first')] });
    const one = await alice.responses.create({ model: 'sim', conversation: id, input: 'second' });
    expect(one.conversation).toEqual({ id });
    expect(one.previous_response_id).toBeNull();
    expect(one.output_text).toContain('message 2');
    const stream = alice.responses.stream({ model: 'sim', conversation: { id }, input: 'third' });
    const two = await stream.finalResponse();
    expect(two.output_text).toContain('message 3');
    expect(two.usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(
      one.usage?.input_tokens ?? Infinity,
    );
    const items = [];
    for await (const item of alice.conversations.items.list(id, { order: 'asc' })) items.push(item.id);
    const outputs = [...one.output, ...two.output].map((item) => item.id);
    expect(items).toHaveLength(3 + outputs.length);
    expect(items).toEqual(expect.arrayContaining(outputs));
    expect(await alice.responses.retrieve(two.id)).toMatchObject({ conversation: { id } });
    const { input_tokens } = await alice.responses.inputTokens.count({
      model: 'sim',
      conversation: id,
      input: 'fourth',
    });
    expect(input_tokens).toBeGreaterThan(two.usage?.input_tokens ?? Infinity);
  });

  it('have items that can be referred to', async () => {
    const { id } = await alice.conversations.create();
    const { data } = await alice.conversations.items.create(id, { items: [user('marmalade')] });
    const reference = { type: 'item_reference' as const, id: data[0]?.id ?? '' };
    const { output_text } = await alice.responses.create({ model: 'sim', input: [reference] });
    expect(output_text).toContain('You said: "marmalade"');
    const copy = await alice.conversations.items.create(id, { items: [reference] });
    expect(copy.data[0]).toEqual({ ...data[0], id: expect.not.stringMatching(reference.id) });
    const bob = new OpenAI({ apiKey: 'bob', baseURL: `${gateway.url}/v1`, maxRetries: 0 });
    await expect(bob.conversations.create({ items: [reference] })).rejects.toMatchObject({
      status: 404,
      code: 'item_not_found',
      param: 'items[0].id',
    });
  });
});

describe('a conversation', () => {
  it('goes on after kill -9 with the same prompt, and without encoding the old one', async () => {
    const { id } = await alice.conversations.create({ items: [user('a long story '.repeat(200))] });
    const ask = () => alice.responses.create({ model: 'sim', conversation: id, input: 'go on' });
    const one = await ask();
    gateway.signal('SIGKILL');
    await gateway.ended();
    gateway.cleanUp();
    await start();
    const two = await ask();
    expect(two.usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(
      one.usage?.input_tokens ?? Infinity,
    );
    const [before, after] = recorder.prompts.slice(-2);
    expect(before?.slice(0, -2)).toEqual(after?.slice(0, (before?.length ?? 0) - 2));
    expect((await workOf(two.id)).tokens_encoded).toBeLessThan(100);

    // Without the response that knows it, everything is folded again, and comes out the same.
    await alice.responses.delete(two.id);
    const three = await ask();
    expect((await workOf(three.id)).tokens_encoded).toBeGreaterThan(600);
    const whole = recorder.prompts.at(-1);
    expect(whole?.slice(0, (after?.length ?? 0) - 2)).toEqual(after?.slice(0, -2));
    const four = await ask();
    expect((await workOf(four.id)).tokens_encoded).toBeLessThan(100);
  });

  it('is carried on over a WebSocket, on any lane and connection', async () => {
    const { id } = await alice.conversations.create();
    const client = await open('alice');
    const first = await client.create({ conversation: id, input: 'a' });
    expect(terminalOf(first).response).toMatchObject({ status: 'completed', conversation: { id } });
    const both = await Promise.all(
      ['b', 'c'].map((stream_id) => client.create({ conversation: { id }, stream_id, input: stream_id })),
    );
    for (const events of both) expect(terminalOf(events).response.status).toBe('completed');
    const other = await open('alice');
    expect(textOf(await other.create({ conversation: id, input: 'd' }))).toContain('message 4');
    const { data } = await alice.conversations.items.list(id, { limit: 100, order: 'asc' });
    const texts = data.flatMap((item) =>
      item.type === 'message' && item.role === 'user' ? item.content : [],
    );
    expect(texts.map((part) => 'text' in part && part.text).toSorted()).toEqual(['a', 'b', 'c', 'd']);
    for (const socket of [client, other]) socket.close();
  });

  it('that is unknown or does not go with the request is an error, and the socket stays open', async () => {
    const client = await open('alice');
    const { id } = await alice.conversations.create();
    for (const [body, status, code, param] of [
      [{ conversation: 'conv_unknown' }, 404, 'conversation_not_found', 'conversation'],
      [{ conversation: id, previous_response_id: 'resp_1' }, 400, 'invalid_value', 'conversation'],
      [{ conversation: id, store: false }, 400, 'invalid_value', 'store'],
      [{ conversation: {} }, 400, 'missing_required_parameter', 'conversation.id'],
      [{ conversation: 5 }, 400, 'invalid_type', 'conversation'],
    ] as const) {
      const [event] = await client.create({ input: 'a', ...body });
      expect(event).toMatchObject({ type: 'error', status, error: { code, param } });
      const { status: overHttp, body: answer } = await ask('POST', '/v1/responses', {
        model: 'sim',
        input: 'a',
        ...body,
      });
      // A frame has the headers inside.
      const { headers: _, ...error } = event?.error as Record<string, unknown>;
      expect({ overHttp, error: answer.error }).toEqual({ overHttp: status, error });
    }
    expect(terminalOf(await client.create({ input: 'a' })).response.status).toBe('completed');
    client.close();
  });
});

describe('the addresses', () => {
  it.each(['/v1', ''])('answer with %s before them', async (prefix) => {
    const { body } = await ask('POST', `${prefix}/conversations`, { items: [user('a')] });
    const path = `${prefix}/conversations/${String(body['id'])}`;
    expect(await ask('GET', path)).toMatchObject({ status: 200, body });
    expect(await ask('POST', path, { metadata: { a: 'b' } })).toMatchObject({ status: 200 });
    const items = await ask('GET', `${path}/items`);
    expect(items).toMatchObject({ status: 200, body: { object: 'list', has_more: false } });
    const item = `${path}/items/${String(items.body['first_id'])}`;
    expect(await ask('GET', item)).toMatchObject({ status: 200, body: { type: 'message' } });
    expect(await ask('POST', `${path}/items`, { items: [user('b')] })).toMatchObject({ status: 200 });
    expect(await ask('DELETE', item)).toMatchObject({ status: 200, body: { object: 'conversation' } });
    expect(await ask('DELETE', path)).toMatchObject({ status: 200, body: { deleted: true } });
  });

  it.each([
    ['GET', '/v1/conversations', 'POST'],
    ['PUT', '/conversations/conv_1', 'GET, POST, DELETE'],
    ['DELETE', '/v1/conversations/conv_1/items', 'GET, POST'],
    ['POST', '/v1/conversations/conv_1/items/msg_1', 'GET, DELETE'],
  ])('take no other method: %s %s', async (method, path, allow) => {
    expect(await ask(method, path)).toMatchObject({
      status: 405,
      allow,
      body: { error: { code: 'method_not_allowed' } },
    });
  });

  const file = { role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] };
  const image = (image_url: string) => ({
    role: 'user',
    content: [
      { type: 'input_text', text: 'look' },
      { type: 'input_image', image_url },
    ],
  });
  const format = { type: 'json_schema', name: 'a', schema: { type: 'nonsense' } };
  const many = Array.from({ length: 21 }, () => user('a'));
  it.each([
    ['no JSON', '', 'nonsense', 'invalid_json', null],
    ['an array', '', [], 'invalid_type', null],
    ['items of another type', '', { items: 'a' }, 'invalid_type', 'items'],
    ['too many items', '', { items: many }, 'invalid_value', 'items'],
    ['a bad item', '', { items: [user('a'), { type: 'x' }] }, 'invalid_value', 'items[1].type'],
    ['a file', '', { items: [file] }, 'unsupported_parameter', 'items[0].content[0]'],
    [
      'no image',
      '/ID/items',
      { items: [user('a'), image('data:image/png;base64,AAAA')] },
      'invalid_image_format',
      'items[1].content[1].image_url',
    ],
    [
      'an image that is not fetched',
      '',
      { items: [image('http://127.0.0.1/a.png')] },
      'invalid_image_url',
      'items[0].content[1].image_url',
    ],
    [
      'a schema that answers cannot be checked against',
      '',
      { items: [{ type: 'configuration_update', text: { format } }] },
      'invalid_value',
      'items[0].text.format.schema',
    ],
    ['an id', '', { items: [{ ...user('a'), id: 'msg_\0' }] }, 'invalid_value', 'items[0].id'],
    ['bad metadata', '', { metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
    ['no metadata', '/ID', {}, 'missing_required_parameter', 'metadata'],
    ['no items', '/ID/items', {}, 'missing_required_parameter', 'items'],
    ['too many items later', '/ID/items', { items: many }, 'invalid_value', 'items'],
    [
      'what was changed',
      '/ID/items',
      { items: [{ type: 'reasoning', summary: [], encrypted_content: 'tp1.AAAA' }] },
      'invalid_encrypted_content',
      'items[0].encrypted_content',
    ],
  ])('name the field at fault: %s', async (_, path, body, code, param) => {
    const { id } = await alice.conversations.create();
    const answer = await ask('POST', `/v1/conversations${path.replace('ID', id)}`, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', code, param } },
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['order=up', 'order'],
    ['after=msg_unknown', 'after'],
  ])('name the parameter at fault: %s', async (query, param) => {
    const { id } = await alice.conversations.create();
    expect(await ask('GET', `/v1/conversations/${id}/items?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param } },
    });
  });

  it('want a key', async () => {
    for (const [method, path] of [...PATHS, ['POST', '/v1/conversations']] as const)
      expect(
        await ask(method, path.replace('CONV', 'conv_1').replace('ITEM', 'msg_1'), undefined, 'nobody'),
      ).toMatchObject({ status: 401, body: { error: { code: 'invalid_api_key' } } });
  });
});

const PATHS = [
  ['GET', '/v1/conversations/CONV'],
  ['POST', '/v1/conversations/CONV', { metadata: { mine: 'now' } }],
  ['GET', '/v1/conversations/CONV/items'],
  ['GET', '/v1/conversations/CONV/items?after=ITEM'],
  ['POST', '/v1/conversations/CONV/items', { items: [user('planted')] }],
  ['GET', '/v1/conversations/CONV/items/ITEM'],
  ['DELETE', '/v1/conversations/CONV/items/ITEM'],
  ['POST', '/v1/responses', { model: 'sim', conversation: 'CONV', input: 'what was said?' }],
  ['POST', '/v1/responses/input_tokens', { model: 'sim', conversation: 'CONV', input: 'a' }],
  ['DELETE', '/v1/conversations/CONV'],
] as const;

/** The work that a turn counted, from the line that is logged of it. */
async function workOf(response: string): Promise<{ tokens_encoded: number }> {
  for (;;) {
    const line = gateway
      .output()
      .split('\n')
      .find((each) => each.includes(response) && each.endsWith('"msg":"turn ended"}'));
    if (line !== undefined) return (JSON.parse(line) as { work: { tokens_encoded: number } }).work;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
