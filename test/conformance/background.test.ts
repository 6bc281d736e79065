import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import type { WireEvent } from '../e2e/socket-client.js';
import { responseShape } from './response-shape.js';
import { Stand } from '../e2e/stand.js';
import { checkStream, idOf, terminal } from './stream-rules.js';
import { connect, overBoth, postJson, readSse, type Body } from './transports.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

async function get(path: string) {
  const answer = await fetch(`${stand.url}/v1/responses/${path}`);
  return { status: answer.status, text: await answer.text() };
}
const retrieve = async (id: string) => responseShape.parse(JSON.parse((await get(id)).text));
const begin = async (body: Body) => {
  const { status, text } = await postJson(stand.url, { background: true, ...body });
  return { status, response: JSON.parse(text) as ReturnType<typeof responseShape.parse> };
};
async function ended(id: string) {
  for (;;) {
    const response = await retrieve(id);
    if (!['queued', 'in_progress'].includes(response.status)) return response;
    await setTimeout(10);
  }
}

describe('a background response', () => {
  it('19. is answered at once over HTTP, and can be polled to its end', async () => {
    const { status, response } = await begin({ input: 'x [sim stall=200 tokens=30]' });
    expect(status).toBe(200);
    expect(['queued', 'in_progress']).toContain(response.status);
    expect(response).toMatchObject({ background: true, output: [], store: true });
    expect(await ended(response.id)).toMatchObject({
      id: response.id,
      status: 'completed',
      background: true,
    });
    const next = await postJson(stand.url, { previous_response_id: response.id, input: 'y' });
    expect(next.status).toBe(200);
  });

  it('19. has to be stored', async () => {
    const { status, response } = await begin({ input: 'x', store: false });
    expect([status, response]).toMatchObject([400, { error: { type: 'invalid_request_error' } }]);
  });

  it('54. that fails is stored as failed, with what there was', async () => {
    const { response } = await begin({ input: 'x [sim die=8]' });
    expect(await ended(response.id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      usage: { output_tokens: 8 },
    });
  });

  overBoth('54. and so is one in the foreground; neither can be continued', here, async (client) => {
    const events = await client.create({ input: 'x [sim die=8]' });
    expect(await retrieve(idOf(events))).toEqual(terminal(events).response);
    const next = await client.create({ previous_response_id: idOf(events), input: 'y' });
    expect(next).toMatchObject([{ status: 400, error: { code: 'previous_response_not_found' } }]);
  });

  it('86. is streamed again from any event on', async () => {
    const answer = await postJson(stand.url, { background: true, stream: true, input: 'x [sim tokens=40]' });
    const events = readSse(answer.text);
    checkStream(events);
    const id = idOf(events);
    for (const stream of ['True', '1']) {
      const { text } = await get(`${id}?stream=${stream}&starting_after=${events.length - 2}`);
      expect(readSse(text)).toEqual(events.slice(-1));
    }
    for (const after of [undefined, 0, 1, 5, events.length - 2, events.length - 1, events.length + 10]) {
      const query = after === undefined ? '' : `&starting_after=${after}`;
      const { status, text } = await get(`${id}?stream=true${query}`);
      expect(status).toBe(200);
      const again = text === '' ? [] : readSse(text);
      expect(again).toEqual(events.filter(({ sequence_number = 0 }) => sequence_number > (after ?? -1)));
    }
  });

  it('86. is followed while it runs, also by a client whose first stream was cut', async () => {
    const gone = new AbortController();
    const first = await fetch(`${stand.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({
        model: 'sim',
        background: true,
        stream: true,
        input: 'x [sim stall=300 tokens=40]',
      }),
      signal: gone.signal,
    });
    const chunk = await first.body?.getReader().read();
    const [line = ''] = Buffer.from(chunk?.value ?? [])
      .toString()
      .split('\n')
      .filter((each) => each.startsWith('data: '));
    const created = JSON.parse(line.slice('data: '.length)) as WireEvent;
    gone.abort();
    const { text } = await get(`${created.response?.id}?stream=true&starting_after=0`);
    const rest = readSse(text);
    expect(rest.map(({ sequence_number }) => sequence_number)).toEqual(rest.map((_, index) => index + 1));
    expect(rest.at(-1)?.type).toBe('response.completed');
  });

  it('86. alone can be streamed again, and starting_after is a number', async () => {
    const plain = terminal(await (await connect('http', stand)).create({ input: 'x' })).response.id;
    expect((await get(`${plain}?stream=true`)).status).toBe(400);
    const { response } = await begin({ input: 'x', stream: false });
    await ended(response.id);
    for (const bad of ['x', '-1', '1.5', '']) {
      expect((await get(`${response.id}?stream=true&starting_after=${bad}`)).status).toBe(400);
    }
    for (const no of ['false', 'False', '0', '']) {
      expect(JSON.parse((await get(`${response.id}?stream=${no}`)).text)).toMatchObject({ id: response.id });
    }
    for (const bad of ['yes', 'null', 'true&stream=true']) {
      const { status, text } = await get(`${response.id}?stream=${bad}`);
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'stream' } }]);
    }
  });
});

describe('cancel', () => {
  const cancel = async (id: string) => {
    const answer = await fetch(`${stand.url}/v1/responses/${id}/cancel`, { method: 'POST' });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  overBoth('87. of a response that is not in the background is a 400', here, async (client) => {
    const id = idOf(await client.create({ input: 'x' }));
    expect(await cancel(id)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error' } },
    });
    expect((await retrieve(id)).status).toBe('completed');
  });

  it('87. of one that runs ends it, at the engine too, however often it is asked for', async () => {
    const { response } = await begin({ input: 'x [sim stall=60000 tokens=60]' });
    while ((await stand.running()) === 0) await setTimeout(5);
    for (let times = 0; times < 2; times++) {
      expect(await cancel(response.id)).toMatchObject({
        status: 200,
        body: { id: response.id, status: 'cancelled' },
      });
    }
    await stand.untilIdle();
    expect((await retrieve(response.id)).status).toBe('cancelled');
  });

  it('87. of one that has ended returns it; of none is a 404', async () => {
    const { response } = await begin({ input: 'x' });
    const done = await ended(response.id);
    expect(await cancel(response.id)).toEqual({ status: 200, body: done });
    expect((await cancel('resp_unknown')).status).toBe(404);
  });
});
