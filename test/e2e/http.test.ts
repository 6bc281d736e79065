import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { startPlatform, type App } from './platform.js';
import type { WireEvent } from './socket-client.js';

let app: App;

beforeAll(async () => {
  app = await startPlatform();
});
afterAll(() => app.stop());

function post(body: unknown, path = '/v1/responses'): Promise<Response> {
  return fetch(app.url + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function eventsOf(body: Record<string, unknown>): Promise<WireEvent[]> {
  const answer = await post({ model: 'sim', stream: true, ...body });
  const text = await answer.text();
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [event, data] = block.split('\n');
      const parsed = JSON.parse(data?.slice('data: '.length) ?? '') as WireEvent;
      expect(event).toBe(`event: ${parsed.type}`);
      return parsed;
    });
}

describe('POST /v1/responses', () => {
  it('streams the same events as the socket, without stream_id and without [DONE]', async () => {
    const events = await eventsOf({ input: 'hello there' });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(events[0]?.type).toBe('response.created');
    expect(events.at(-1)?.type).toBe('response.completed');
  });

  it('answers JSON with the finished response and a request id', async () => {
    const answer = await post({ model: 'sim', input: [{ role: 'user', content: 'hello there' }] });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await answer.json()).toMatchObject({ object: 'response', status: 'completed', store: true });
  });

  it('continues by previous_response_id the instant the response is known', async () => {
    for (let round = 0; round < 50; round++) {
      const events = await eventsOf({ input: 'a' });
      const next = await eventsOf({ input: 'b', previous_response_id: events.at(-1)?.response?.id });
      expect(next.at(-1)?.type).toBe('response.completed');
    }
  });

  it('does not keep a store:false response', async () => {
    const first = (await (await post({ model: 'sim', input: 'a', store: false })).json()) as { id: string };
    const answer = await post({ model: 'sim', input: 'b', previous_response_id: first.id });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({
      error: {
        type: 'invalid_request_error',
        code: 'previous_response_not_found',
        message: `Previous response with id '${first.id}' not found.`,
        param: 'previous_response_id',
      },
    });
  });

  it.each([
    ['not JSON', 'nonsense', 400, 'invalid_json', null],
    ['an array', '[]', 400, 'invalid_type', null],
    ['no model', '{"input":"x"}', 400, 'missing_required_parameter', 'model'],
    ['an unknown model', '{"model":"nope","input":"x"}', 404, 'model_not_found', 'model'],
    ['a lane', '{"model":"sim","input":"x","stream_id":"a"}', 400, 'unsupported_parameter', 'stream_id'],
    [
      'an orphan output',
      '{"model":"sim","input":[{"type":"function_call_output","call_id":"c9","output":"1"}]}',
      400,
      'tool_output_mismatch',
      'input',
    ],
    [
      'a call without output',
      '{"model":"sim","input":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"user","content":"never mind"}]}',
      400,
      'tool_output_mismatch',
      'input',
    ],
    [
      'an image',
      '{"model":"sim","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:,"}]}]}',
      400,
      'invalid_image_url',
      'input[0].content[0].image_url',
    ],
    [
      'a file',
      '{"model":"sim","input":[{"role":"user","content":[{"type":"input_file","file_id":"file_1"}]}]}',
      400,
      'unsupported_parameter',
      'input[0].content[0]',
    ],
  ])('%s is one precise error', async (_name, body, status, code, param) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code, param } });
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('refuses a body over the limit with 413, from its Content-Length', async () => {
    const socket = createConnection(Number(new URL(app.url).port), '127.0.0.1');
    socket.write('POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n');
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString()).toContain('413 Payload Too Large');
    socket.destroy();
  });

  it('says the error of an engine as an HTTP status when nothing was produced', async () => {
    const answer = await post({ model: 'sim', input: 'x [sim status=503]' });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
  });

  it('logs what failed once, and which request that was', async () => {
    const answer = await post({ model: 'sim', input: 'x [sim status=418]' });
    const request = answer.headers.get('x-request-id') ?? '';
    while (!app.output().includes(request)) await new Promise((resolve) => setTimeout(resolve, 5));
    const lines = app.output().split('\n');
    const [faults, said] = ['status 418', request].map((text) => lines.filter((line) => line.includes(text)));
    expect(faults).toHaveLength(1);
    const { response, ...rest } = JSON.parse(said?.[0] ?? '') as Record<string, unknown>;
    expect(rest).toMatchObject({ request, msg: 'answered with an error' });
    expect(JSON.parse(faults?.[0] ?? '')).toMatchObject({ response, level: 50 });
  });

  it('replaces a lone surrogate by U+FFFD at the edge', async () => {
    const answer = await post('{"model":"sim","input":"a\\ud83d b"}');
    expect(await answer.text()).toContain('a� b');
  });
});

describe('POST /v1/responses/input_tokens', () => {
  it('counts what a turn then reads, and keeps nothing', async () => {
    const first = (await (await post({ model: 'sim', input: 'a' })).json()) as { id: string };
    const body = { model: 'sim', input: 'b', instructions: 'Be brief.', previous_response_id: first.id };
    const counted = await post(body, '/v1/responses/input_tokens');
    expect(counted.status).toBe(200);
    const response = (await (await post(body)).json()) as { usage: { input_tokens: number } };
    expect(await counted.json()).toEqual({
      object: 'response.input_tokens',
      input_tokens: response.usage.input_tokens,
    });
  });

  it('fails as the turn would', async () => {
    const answer = await post({ model: 'nope', input: 'b' }, '/v1/responses/input_tokens');
    expect(await answer.json()).toMatchObject({ error: { code: 'model_not_found', param: 'model' } });
  });
});

describe('every answer', () => {
  const ROUTES = [
    ['GET', '/health', 200],
    ['GET', '/v1/models', 200],
    ['GET', '/v1/models/sim', 200],
    ['GET', '/v1/models/nope', 404],
    ['POST', '/v1/responses', 200],
    ['POST', '/responses', 200],
    ['GET', '/v1/responses', 426],
    ['POST', '/v1/responses/input_tokens', 200],
    ['GET', '/v1/responses/ID', 200],
    ['GET', '/v1/responses/ID/input_items', 200],
    ['POST', '/v1/responses/ID/cancel', 400],
    ['GET', '/v1/responses/ID?stream=true', 400],
    ['DELETE', '/v1/responses/ID', 200],
    ['GET', '/v1/responses/ID', 404],
    ['GET', '/v1/responses/ID/input_items', 404],
    ['POST', '/v1/responses/ID/cancel', 404],
    ['DELETE', '/v1/responses/ID', 404],
    ['PUT', '/v1/responses', 405],
    ['GET', '/v1/nowhere', 404],
    ['GET', '/v1/models/%E0%A4%A', 404],
  ] as const;

  it('has a request id of its own, and every error its four keys', async () => {
    const { id } = (await (await post({ model: 'sim', input: 'x' })).json()) as { id: string };
    const ids = new Set<string | null>();
    for (const [method, path, status] of ROUTES) {
      const body = method === 'POST' ? JSON.stringify({ model: 'sim', input: 'x' }) : null;
      const answer = await fetch(app.url + path.replace('ID', id), { method, body });
      expect([method, path, answer.status]).toEqual([method, path, status]);
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{48}$/);
      ids.add(answer.headers.get('x-request-id'));
      const { error } = (await answer.json()) as { error?: Record<string, unknown> };
      if (status >= 400) {
        expect(Object.keys(error ?? {}).sort()).toEqual(['code', 'message', 'param', 'type']);
      }
    }
    expect(ids.size).toBe(ROUTES.length);
    const stream = await post({ model: 'sim', input: 'x', stream: true });
    expect(stream.headers.get('x-request-id')).toMatch(/^req_/);
    await stream.text();
  });

  it('to an upgrade too, granted or refused', async () => {
    for (const [path, status] of [
      ['/v1/responses', '101 Switching Protocols'],
      ['/nowhere', '404 Not Found'],
    ]) {
      const socket = createConnection(Number(new URL(app.url).port), '127.0.0.1');
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
      );
      const [data] = (await once(socket, 'data')) as [Buffer];
      expect(data.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status}\r\n.*x-request-id: req_`, 'is'));
      socket.destroy();
    }
  });
});

describe('other addresses', () => {
  it('GET /v1/responses explains itself', async () => {
    const answer = await fetch(`${app.url}/v1/responses`);
    expect(answer.status).toBe(426);
    expect(await answer.json()).toMatchObject({ error: { code: 'upgrade_required' } });
  });

  it('an unknown address is a JSON 404', async () => {
    const answer = await fetch(`${app.url}/nothing`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
  });

  it('an upgrade elsewhere is a JSON 404 and leaves no socket behind', async () => {
    const socket = createConnection(Number(new URL(app.url).port), '127.0.0.1');
    socket.write(
      'GET /socket HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(socket, 'close');
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1\.1 404 .*"code":"not_found"/s);
  });

  it('models and health answer', async () => {
    expect(await (await fetch(`${app.url}/v1/models`)).json()).toMatchObject({
      data: [{ id: 'sim', object: 'model' }],
    });
    expect((await fetch(`${app.url}/v1/models/nope`)).status).toBe(404);
    expect(await (await fetch(`${app.url}/health`)).json()).toMatchObject({ status: 'ok' });
  });
});

describe('a client that leaves', () => {
  it('takes its engine request with it', async () => {
    const gone = new AbortController();
    const answer = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'sim',
        stream: true,
        input: 'marker-of-a-secret-prompt [sim stall=60000]',
      }),
      signal: gone.signal,
    });
    await answer.body?.getReader().read();
    gone.abort();
    while (!/"status":"incomplete"/.test(app.output()))
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(app.output()).toContain('cancelled');
    expect(app.output()).not.toContain('marker-of-a-secret-prompt');
  });
});
