import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { keysOf } from '../e2e/platform.js';
import { SocketClient, type WireItem } from '../e2e/socket-client.js';
import { KINDS } from './kinds.js';
import { Stand } from '../e2e/stand.js';
import { terminal } from './stream-rules.js';
import { connect, normalised, postJson, type Body, type Client } from './transports.js';

let stand: Stand;
let overSocket: Client;
let overHttp: Client;

beforeAll(async () => {
  stand = await Stand.start(['limits: { bodyBytes: 20000000 }']);
  [overSocket, overHttp] = [await connect('websocket', stand), await connect('http', stand)];
});
afterAll(async () => {
  overSocket.close();
  await stand.stop();
});

/** The same request over both transports, the engine's cache filled before; over the socket in a named lane. */
async function both(request: Body) {
  await overHttp.create({ ...request, store: false });
  const events = await overHttp.create(request);
  const named = await overSocket.create({ ...request, stream_id: 'main' });
  expect(named.every(({ stream_id }) => stream_id === 'main')).toBe(true);
  const plain = await overSocket.create(request);
  return { http: normalised(events), named: normalised(named), plain: normalised(plain) };
}

describe('parity', () => {
  it.each(KINDS)(
    '85. the events are the same over SSE and WebSocket, lane or not: $name',
    async ({ request }) => {
      const { http, named, plain } = await both(request);
      expect(named).toEqual(http);
      expect(plain).toEqual(http);
    },
  );

  it('85. and with every setting that is echoed', async () => {
    const { http, named, plain } = await both({
      input: 'x',
      instructions: 'Be brief.',
      temperature: 0.3,
      top_p: 0.4,
      max_output_tokens: 500,
      metadata: { a: 'b' },
      reasoning: { effort: 'high', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      tools: [{ type: 'web_search' }, { type: 'custom', name: 'note' }],
      tool_choice: 'none',
      truncation: 'auto',
      user: 'u',
      prompt_cache_key: 'k',
      service_tier: 'flex',
      store: false,
    });
    expect(named).toEqual(http);
    expect(plain).toEqual(http);
  });

  it('85. a continuation is the same on either, whichever began', async () => {
    const root = terminal(await overHttp.create({ input: 'root' })).response.id;
    const other = terminal(await overSocket.create({ input: 'root' })).response.id;
    const answers = [];
    for (const id of [root, other, root, other]) {
      for (const client of [overHttp, overSocket]) {
        answers.push(normalised(await client.create({ previous_response_id: id, input: 'go on' })));
      }
    }
    // The first of them found less in the engine's cache than the others did.
    const [, ...rest] = answers;
    for (const events of rest) expect(events).toEqual(rest[0]);
  });

  it('85. errors say the same', async () => {
    const requests: Body[] = [
      { input: 5 },
      { input: [{ type: 'nonsense' }] },
      { input: 'x', model: 'nope' },
      { input: 'x', model: undefined },
      { input: 'x', previous_response_id: 'resp_gone' },
      { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
      { input: 'x', tools: [{ type: 'function' }] },
      { input: 'x', tool_choice: 'required' },
      { input: 'x', temperature: 9 },
      { input: 'x', metadata: { a: 1 } },
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 5 }] }] },
      { input: [{ type: 'item_reference', id: 'msg_gone' }] },
      { input: 'x', text: { format: { type: 'json_schema', name: 'n', schema: { type: 'human' } } } },
    ];
    for (const request of requests) {
      const [http] = await overHttp.create(request);
      const [socket] = await overSocket.create(request);
      // A frame has the headers inside.
      const { headers: _, ...error } = socket?.error as Record<string, unknown>;
      expect([http?.type, http?.status, http?.error]).toEqual([socket?.type, socket?.status, error]);
    }
  });

  it('85. without a stream the answer is the response of the terminal event', async () => {
    for (const { request, ends } of KINDS) {
      if (ends === 'failed') continue;
      await overHttp.create({ ...request, store: false });
      const streamed = terminal(await overHttp.create(request)).response;
      const { text } = await postJson(stand.url, request);
      const answer = JSON.parse(text) as typeof streamed;
      const said = (response: typeof streamed) => normalised([{ type: 'response', response }]);
      expect(said(answer)).toEqual(said(streamed));
    }
  });
});

interface Page {
  readonly object: string;
  readonly data: WireItem[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

async function page(
  id: string,
  query = '',
): Promise<{ status: number; body: Page; requestId: string | null }> {
  const answer = await fetch(`${stand.url}/v1/responses/${id}/input_items${query}`);
  return {
    status: answer.status,
    body: (await answer.json()) as Page,
    requestId: answer.headers.get('x-request-id'),
  };
}

describe('input_items', () => {
  const texts = ({ data }: Page) => data.map(({ content }) => content?.[0]?.text);
  let id: string;

  beforeAll(async () => {
    const input = Array.from({ length: 45 }, (_, index) => ({ role: 'user', content: `item ${index}` }));
    id = terminal(await overHttp.create({ input, generate: false })).response.id;
  });

  it('88. come last first by default, 20 to a page', async () => {
    const { body } = await page(id);
    expect(Object.keys(body).sort()).toEqual(['data', 'first_id', 'has_more', 'last_id', 'object']);
    expect(body.object).toBe('list');
    expect(texts(body)).toEqual(Array.from({ length: 20 }, (_, index) => `item ${44 - index}`));
    expect([body.first_id, body.last_id, body.has_more]).toEqual([
      body.data[0]?.id,
      body.data.at(-1)?.id,
      true,
    ]);
    for (const item of body.data)
      expect(item).toMatchObject({ type: 'message', id: expect.stringMatching(/^msg_/) });
  });

  it.each(['asc', 'desc'])('88. can be paged through to the end, in order %s', async (order) => {
    const seen: unknown[] = [];
    let after = '';
    for (;;) {
      const { body } = await page(id, `?order=${order}&limit=7${after}`);
      seen.push(...texts(body));
      expect(body.data.length).toBe(body.has_more ? 7 : 45 % 7);
      if (!body.has_more) break;
      after = `&after=${body.last_id}`;
    }
    const all = Array.from({ length: 45 }, (_, index) => `item ${index}`);
    expect(seen).toEqual(order === 'asc' ? all : all.reverse());
  });

  it('88. an exact page has nothing behind it, and neither has the last item', async () => {
    const whole = (await page(id, '?limit=45&order=asc')).body;
    expect([whole.data.length, whole.has_more]).toEqual([45, false]);
    const behind = (await page(id, `?limit=45&order=asc&after=${whole.last_id}`)).body;
    expect(behind).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  });

  it('88. of a continuation are its own, output of the one before it excluded', async () => {
    const events = await overHttp.create({
      previous_response_id: id,
      input: [{ role: 'user', content: 'mine' }],
    });
    expect(texts((await page(terminal(events).response.id)).body)).toEqual(['mine']);
    const warm = await overSocket.create({ previous_response_id: id, input: [], generate: false });
    expect((await page(terminal(warm).response.id)).body).toMatchObject({
      data: [],
      first_id: null,
      has_more: false,
    });
  });

  it('88. of every kind come back as they can be sent again', async () => {
    const input = [
      { role: 'system', content: 's' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'r' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'o' }] },
      { type: 'custom_tool_call', call_id: 'c2', name: 'n', input: 'i' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: '' },
      { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'g' }] },
      { role: 'assistant', content: 'a', phase: 'commentary' },
      { role: 'user', content: 'u' },
    ];
    const made = terminal(await overSocket.create({ input, generate: false })).response.id;
    const { data } = (await page(made, '?order=asc')).body;
    expect(data.map(({ type }) => type)).toEqual(input.map(({ type = 'message' }) => type));
    expect(new Set(data.map((item) => item.id)).size).toBe(input.length);
    expect(data[1]).toMatchObject({ id: 'rs_1' });
    stand.takePromptIds();
    await overHttp.create({ input, store: false });
    await overHttp.create({ input: data, store: false });
    const [first, second] = stand.takePromptIds();
    expect(second).toEqual(first);
  });

  it.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'order=up',
    'order=ASC',
    'after=msg_gone',
    'after=a&after=b',
  ])('88. a query that cannot be is a 400 on its field: %s', async (query) => {
    const { status, body } = await page(id, `?${query}`);
    expect([status, body]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', param: query.split('=')[0], code: 'invalid_value' } },
    ]);
  });

  it('88. limits of 1 and 100 are taken, and so is what include may name', async () => {
    for (const [query, length] of [
      ['limit=1', 1],
      ['limit=100', 45],
      ['include[]=reasoning.encrypted_content', 20],
      ['foo=bar', 20],
    ] as const) {
      expect((await page(id, `?${query}`)).body.data).toHaveLength(length);
    }
  });
});

describe('errors', () => {
  const KEYS = ['code', 'message', 'param', 'type'];

  it('89. have all four keys, on every path and for every reason', async () => {
    const json = (body: unknown) => JSON.stringify(body);
    const requests: [string, string, string | undefined, number][] = [
      ['POST', '/v1/responses', 'not json', 400],
      ['POST', '/v1/responses', '', 400],
      ['POST', '/v1/responses', '[]', 400],
      ['POST', '/v1/responses', json({ model: 'sim', input: 5 }), 400],
      ['POST', '/v1/responses', json({ model: 'nope', input: 'x' }), 404],
      ['POST', '/v1/responses', json({ model: 'sim', input: 'x [sim status=503]' }), 503],
      ['POST', '/v1/responses', json({ model: 'sim', input: 'x [sim status=500]' }), 502],
      ['POST', '/v1/responses', 'x'.repeat(20_000_001), 413],
      ['POST', '/v1/responses/input_tokens', '{}', 400],
      ['GET', '/v1/responses', undefined, 426],
      ['GET', '/v1/responses/resp_gone', undefined, 404],
      ['GET', '/v1/responses/resp_gone/input_items', undefined, 404],
      ['GET', '/v1/responses/resp_gone/input_items?limit=x', undefined, 400],
      ['DELETE', '/v1/responses/resp_gone', undefined, 404],
      ['GET', '/v1/models/nope', undefined, 404],
      ['GET', '/nowhere', undefined, 404],
      ['PUT', '/v1/responses', '{}', 405],
      ['GET', '/v1/models/%E0%A4%A', undefined, 404],
    ];
    for (const [method, path, body, status] of requests) {
      const answer = await fetch(stand.url + path, { method, ...(body === undefined ? {} : { body }) });
      expect([method, path, answer.status]).toEqual([method, path, status]);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      const { error, ...rest } = (await answer.json()) as { error: Record<string, unknown> };
      expect([Object.keys(error).sort(), rest]).toEqual([KEYS, {}]);
      expect(JSON.stringify(error)).not.toMatch(/node_modules|\.ts:|\.js:|127\.0\.0\.1/);
    }
  });

  it('89. too many of something says when to try again', async () => {
    const overloaded = await postJson(stand.url, { input: 'x [sim status=429]' });
    expect(Number(overloaded.headers.get('retry-after'))).toBeGreaterThan(0);
    const { url } = await stand.gateway(['limits: { queuedBytes: 1000 }', 'store: { kind: memory }']);
    const client = await SocketClient.connect(url);
    client.send({
      type: 'response.create',
      model: 'sim',
      input: 'x [sim stall=200 tokens=20]',
      stream_id: 'main',
    });
    client.send({ type: 'response.create', model: 'sim', input: 'y'.repeat(2_000), stream_id: 'main' });
    await client.until(() => client.events.some(({ type }) => type === 'error'));
    const error = client.events.find(({ type }) => type === 'error');
    expect(error).toMatchObject({
      status: 429,
      stream_id: 'main',
      error: { code: 'too_many_queued_responses' },
    });
    for (const holder of [error, error?.error]) {
      const { headers } = holder as unknown as { headers: Record<string, string> };
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
    client.close();
  });

  it('90. and everything else over HTTP carry a request id of their own', async () => {
    const ids: (string | null)[] = [];
    const ask = async (method: string, path: string, body?: string) => {
      const answer = await fetch(stand.url + path, { method, ...(body === undefined ? {} : { body }) });
      await answer.text();
      expect([method, path, answer.headers.get('x-request-id')]).toEqual([
        method,
        path,
        expect.stringMatching(/^req_/),
      ]);
      ids.push(answer.headers.get('x-request-id'));
    };
    const { id } = terminal(await overHttp.create({ input: 'x' })).response;
    const body = JSON.stringify({ model: 'sim', input: 'x' });
    await ask('GET', '/health');
    await ask('GET', '/v1/models');
    await ask('GET', '/v1/models/sim');
    await ask('GET', '/v1/models/nope');
    await ask('POST', '/v1/responses', body);
    await ask('POST', '/v1/responses', JSON.stringify({ model: 'sim', input: 'x', stream: true }));
    await ask('POST', '/v1/responses', 'not json');
    await ask('POST', '/v1/responses/input_tokens', body);
    await ask('GET', '/v1/responses');
    await ask('GET', `/v1/responses/${id}`);
    await ask('GET', `/v1/responses/${id}/input_items`);
    await ask('DELETE', `/v1/responses/${id}`);
    await ask('DELETE', `/v1/responses/${id}`);
    await ask('GET', '/nowhere');
    await ask('PUT', '/v1/responses', '{}');
    await ask('OPTIONS', '/v1/responses');
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('90. and so do upgrades that are refused', async () => {
    const { url } = await stand.gateway(['websocket: false', 'store: { kind: memory }', ...keysOf('alice')]);
    for (const [base, path] of [
      [url, '/v1/responses'],
      [stand.url, '/nowhere'],
    ] as const) {
      const headers = { connection: 'upgrade', upgrade: 'websocket' };
      const sent = request(base + path, { headers });
      sent.end();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      expect(answer.headers['x-request-id']).toMatch(/^req_/);
    }
  });
});
