import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { accept, call, cancel, EventStream, poll } from './background-client.js';
import { App, FAST, keysOf, startGateway } from './platform.js';
import type { WireEvent } from './socket-client.js';

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** An answer that goes on for as long as a test does, after a few tokens. */
const ENDLESS = 'go on [sim stall=600000 tokens=40]';

let engine: App;
let app: Gateway;
let openai: OpenAI;
beforeAll(async () => {
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
  app = await startGateway(engine.url);
  openai = new OpenAI({ apiKey: 'unused', baseURL: `${app.url}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await app.stop();
  app.cleanUp();
  await engine.stop();
});

/** Runs a test with a gateway of these settings. */
async function withGateway(
  extra: readonly string[],
  test: (gateway: Gateway) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway(engine.url, extra);
  try {
    await test(gateway);
  } finally {
    await gateway.stop();
    gateway.cleanUp();
  }
}

/** Requests that the engine is working on. */
async function engineRunning(): Promise<number> {
  return ((await (await fetch(`${engine.url}/debug/state`)).json()) as { running: number }).running;
}

const numbers = (events: readonly WireEvent[]) => events.map(({ sequence_number }) => sequence_number);
const types = (events: readonly WireEvent[]) => events.map(({ type }) => type);

it('compacts in the background what ends with a trigger', async () => {
  const input = [{ role: 'user', content: 'remember 42' }, { type: 'compaction_trigger' }];
  const accepted = await call(`${app.url}/v1/responses`, { body: { background: true, input } });
  const { output } = await poll(app.url, accepted.body.id);
  expect(output.map(({ type }) => type)).toEqual(['compaction']);
});

describe('the openai SDK', () => {
  it('polls a background response, lists its input, and continues it', async () => {
    let response = await openai.responses.create({
      model: 'sim',
      background: true,
      input: 'tell me [sim stall=300 tokens=20]',
    });
    expect([response.status, response.background, response.output]).toEqual(['queued', true, []]);
    const listed = await openai.responses.inputItems.list(response.id);
    const created = response.created_at;
    while (response.status === 'queued' || response.status === 'in_progress') {
      await new Promise((resolve) => setTimeout(resolve, 20));
      response = await openai.responses.retrieve(response.id);
    }
    expect([response.status, response.created_at, response.error]).toEqual(['completed', created, null]);
    expect(response.output_text).toContain('tell me');
    // Its items are the same ones before and after.
    expect((await openai.responses.inputItems.list(response.id)).data).toEqual(listed.data);
    const next = await openai.responses.create({
      model: 'sim',
      input: 'and then?',
      previous_response_id: response.id,
    });
    expect(next.output_text).toContain('(message 2,');
    expect(await openai.responses.cancel(response.id)).toMatchObject({
      id: response.id,
      status: 'completed',
    });
  });

  it('streams one, leaves, and resumes behind any event', async () => {
    const stream = await openai.responses.create({
      model: 'sim',
      background: true,
      stream: true,
      input: 'tell me [sim tokens=30]',
    });
    const seen: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (seen.length === 5) break;
    }
    expect(seen.slice(0, 3)).toMatchObject([
      { type: 'response.created', sequence_number: 0, response: { status: 'queued', background: true } },
      { type: 'response.queued', sequence_number: 1, response: { status: 'queued' } },
      { type: 'response.in_progress', sequence_number: 2, response: { status: 'in_progress' } },
    ]);
    const [first] = seen;
    const id = first?.type === 'response.created' ? first.response.id : '';
    const resumed = await openai.responses.retrieve(id, { stream: true, starting_after: 4 });
    for await (const event of resumed) seen.push(event);
    expect(seen.map(({ sequence_number }) => sequence_number)).toEqual(seen.map((_, index) => index));
    const last = seen.at(-1);
    const stored = await openai.responses.retrieve(id, {
      include: ['message.output_text.logprobs'],
      include_obfuscation: false,
    });
    const { output_text, ...plain } = stored;
    expect(last).toMatchObject({ type: 'response.completed', response: plain });

    const helped = openai.responses.stream({ response_id: id, starting_after: 10 });
    const after: number[] = [];
    helped.on('event', ({ sequence_number }) => after.push(sequence_number));
    expect((await helped.finalResponse()).output_text).toBe(output_text);
    expect(after[0]).toBe(11);
  });

  it('cancels one that runs: the engine stops, and what was made stays', async () => {
    const { id } = await openai.responses.create({ model: 'sim', background: true, input: ENDLESS });
    while ((await engineRunning()) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const cancelled = await openai.responses.cancel(id);
    expect([cancelled.status, cancelled.error, cancelled.incomplete_details]).toEqual([
      'cancelled',
      null,
      null,
    ]);
    expect(await engineRunning()).toBe(0);
    expect(await openai.responses.cancel(id)).toEqual(cancelled);
    const { output_text, ...stored } = await openai.responses.retrieve(id);
    expect({ ...stored, output_text }).toMatchObject(cancelled);
    await expect(
      openai.responses.create({ model: 'sim', input: 'x', previous_response_id: id }),
    ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
  });
});

describe('a stream of a background response', () => {
  it('can be followed by several while it runs, and each gets everything behind its event', async () => {
    const first = await EventStream.open(`${app.url}/v1/responses`, {
      background: true,
      input: 'x [sim stall=700 tokens=40]',
    });
    await first.until((events) => events.some(({ type }) => type.endsWith('.delta')));
    const id = first.events[0]?.response?.id ?? '';
    const others = await Promise.all(
      [undefined, 0, 3, 1_000].map((after) => EventStream.again(app.url, id, after)),
    );
    const all = await first.all();
    expect(numbers(all)).toEqual(all.map((_, index) => index));
    expect(all.at(-1)?.type).toBe('response.completed');
    const [whole, behind0, behind3, beyond] = await Promise.all(others.map((each) => each.all()));
    expect([whole, behind0, behind3]).toEqual([all, all.slice(1), all.slice(4)]);
    expect(beyond).toEqual([]);
    for (let after = 0; after < all.length; after += 7) {
      expect(await (await EventStream.again(app.url, id, after)).all()).toEqual(all.slice(after + 1));
    }
  });

  it('may be left the instant it begins: the response is made all the same', async () => {
    for (let round = 0; round < 10; round++) {
      const stream = await EventStream.open(`${app.url}/v1/responses`, { background: true, input: 'a' });
      await stream.until((events) => events.length > 0);
      stream.leave();
      expect((await poll(app.url, stream.events[0]?.response?.id ?? '')).status).toBe('completed');
    }
  });

  it('ends with response.failed when it is cancelled, which says so', async () => {
    const stream = await EventStream.open(`${app.url}/v1/responses`, { background: true, input: ENDLESS });
    await stream.until((events) => events.some(({ type }) => type.endsWith('.delta')));
    const id = stream.events[0]?.response?.id ?? '';
    const { body } = await cancel(app.url, id);
    const events = await stream.all();
    expect(numbers(events)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'cancelled', error: null, output: body.output },
    });
    expect(types(events).filter((type) => /completed|incomplete|failed/.test(type))).toHaveLength(1);
    expect(body.output).toMatchObject([{ type: 'reasoning', status: 'incomplete' }]);
  });

  it('that is too long to be kept is cut off, and the response is there', async () => {
    await withGateway(['limits: { backgroundEventBytes: 8000 }'], async ({ url }) => {
      const { id } = await accept(url, 'x [sim tokens=400]', { stream: false });
      await poll(url, id, 'completed');
      const body = { background: true, input: 'x [sim stall=500 tokens=400]' };
      const stream = await EventStream.open(`${url}/v1/responses`, body);
      expect(await stream.ended).toBe(false);
      const long = stream.events[0]?.response?.id ?? '';
      expect((await poll(url, long)).status).toBe('completed');
      expect(await call(`${url}/v1/responses/${long}?stream=true`)).toMatchObject({
        status: 400,
        body: { error: { code: 'not_a_background_response', param: 'stream' } },
      });
    });
  });
});

describe('a background response that fails', () => {
  it('says so when it is asked for, and cannot be continued', async () => {
    const { id } = await accept(app.url, 'x [sim status=503]', { stream: false });
    expect(await poll(app.url, id)).toMatchObject({
      status: 'failed',
      output: [],
      error: { code: 'rate_limit_exceeded' },
    });
    const input = await call(`${app.url}/v1/responses/${id}/input_items`);
    expect(input.body['data']).toHaveLength(1);
    const next = { input: 'y', previous_response_id: id };
    expect(await call(`${app.url}/v1/responses`, { body: next })).toMatchObject({
      status: 400,
      body: { error: { code: 'previous_response_not_found' } },
    });
  });

  it('does so too when what it continues has gone before its turn came', async () => {
    await withGateway(['limits: { backgroundRunning: 1 }'], async ({ url }) => {
      const parent = (await call(`${url}/v1/responses`, { body: { input: 'a' } })).body;
      const running = await accept(url, ENDLESS);
      const child = await accept(url, 'b', { previous_response_id: parent.id });
      await call(`${url}/v1/responses/${parent.id}`, { method: 'DELETE' });
      await cancel(url, running.id);
      expect(await poll(url, child.id)).toMatchObject({
        status: 'failed',
        error: { code: 'invalid_prompt', message: `Previous response with id '${parent.id}' not found.` },
        previous_response_id: parent.id,
      });
    });
  });
});

describe('a response that fails and is not made in the background', () => {
  it('can be retrieved with what there is of it, unless it is not to be stored, and cannot be continued', async () => {
    const body = { input: 'x [sim die=12 reason=0 tokens=50]' };
    const failed = async (fields: object) => {
      const stream = await EventStream.open(`${app.url}/v1/responses`, { ...body, ...fields });
      const last = (await stream.all()).at(-1);
      expect(last).toMatchObject({ type: 'response.failed', response: { error: { code: 'server_error' } } });
      return last?.response ?? { id: '' };
    };
    const response = await failed({});
    const { status, body: stored } = await call(`${app.url}/v1/responses/${response.id}`);
    expect([status, stored]).toEqual([200, response]);
    expect(stored.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
    expect(stored.usage?.output_tokens).toBe(12);
    const next = { input: 'y', previous_response_id: response.id };
    expect(await call(`${app.url}/v1/responses`, { body: next })).toMatchObject({
      status: 400,
      body: { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    });
    const { id } = await failed({ store: false });
    expect((await call(`${app.url}/v1/responses/${id}`)).status).toBe(404);
  });
});

describe('the queue', () => {
  it('runs so many at once, in order, takes so many of a tenant, and lets them be cancelled', async () => {
    await withGateway(
      ['limits: { backgroundRunning: 1, backgroundQueued: 3 }', ...keysOf('a', 'b')],
      async ({ url }) => {
        const post = (key: string, input: string) =>
          call(`${url}/v1/responses`, { key, body: { input, background: true } });
        const get = async (id: string, key = 'a') => (await call(`${url}/v1/responses/${id}`, { key })).body;
        const running = (await post('a', ENDLESS)).body.id;
        while ((await get(running)).status !== 'in_progress')
          await new Promise((resolve) => setTimeout(resolve, 10));
        const waiting: string[] = [];
        for (const input of ['one', 'two', 'three']) waiting.push((await post('a', input)).body.id);
        const refused = await post('a', 'four');
        expect(refused).toMatchObject({
          status: 429,
          retryAfter: '5',
          body: { error: { type: 'rate_limit_error', code: 'too_many_queued_responses', param: null } },
        });
        const other = (await post('b', 'mine')).body.id;
        for (const id of waiting) expect((await get(id)).status).toBe('queued');

        const [one, two, three] = waiting as [string, string, string];
        expect(await cancel(url, two, 'a')).toMatchObject({
          status: 200,
          body: { status: 'cancelled', output: [], error: null, usage: null },
        });
        expect((await get(two)).status).toBe('cancelled');
        await cancel(url, running, 'a');
        while ((await get(other, 'b')).status !== 'completed')
          await new Promise((resolve) => setTimeout(resolve, 10));
        // What was accepted before it has been made before it.
        expect([(await get(one)).status, (await get(two)).status, (await get(three)).status]).toEqual([
          'completed',
          'cancelled',
          'completed',
        ]);
      },
    );
  });

  it('forgets what is deleted, and its engine stops', async () => {
    const stream = await EventStream.open(`${app.url}/v1/responses`, { background: true, input: ENDLESS });
    await stream.until((events) => events.some(({ type }) => type.endsWith('.delta')));
    const id = stream.events[0]?.response?.id ?? '';
    expect(await call(`${app.url}/v1/responses/${id}`, { method: 'DELETE' })).toMatchObject({
      status: 200,
      body: { id, object: 'response', deleted: true },
    });
    expect(await stream.ended).toBe(false);
    while ((await engineRunning()) > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const path of ['', '?stream=true', '/input_items'])
      expect((await call(`${app.url}/v1/responses/${id}${path}`)).status).toBe(404);
    expect((await cancel(app.url, id)).status).toBe(404);
    expect((await call(`${app.url}/v1/responses/${id}`, { method: 'DELETE' })).status).toBe(404);
  });
});

describe('what is refused', () => {
  it.each([
    ['store: false', { store: false }, 400, 'invalid_value', 'background'],
    ['an unknown model', { model: 'nope' }, 404, 'model_not_found', 'model'],
    [
      'an unknown parent',
      { previous_response_id: 'resp_1' },
      400,
      'previous_response_not_found',
      'previous_response_id',
    ],
    [
      'an orphan output',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      400,
      'tool_output_mismatch',
      'input',
    ],
  ])('at once: %s', async (_, fields, status, code, param) => {
    for (const stream of [false, true]) {
      const body = { input: 'x', background: true, stream, ...fields };
      expect(await call(`${app.url}/v1/responses`, { body })).toMatchObject({
        status,
        body: { error: { code, param } },
      });
    }
  });

  it('of a response that is not made in the background, or not as a stream', async () => {
    const plain = (await call(`${app.url}/v1/responses`, { body: { input: 'x' } })).body.id;
    const unstreamed = (await accept(app.url, 'x')).id;
    await poll(app.url, unstreamed);
    const refusal = (param: string) => ({
      status: 400,
      body: { error: { type: 'invalid_request_error', code: 'not_a_background_response', param } },
    });
    expect(await cancel(app.url, plain)).toMatchObject(refusal('response_id'));
    for (const id of [plain, unstreamed]) {
      expect(await call(`${app.url}/v1/responses/${id}?stream=true`)).toMatchObject(refusal('stream'));
    }
  });

  it.each(['x', '-1', '1.5', '', '1'.repeat(16), '0x1'])('as starting_after: %j', async (after) => {
    const url = `${app.url}/v1/responses/resp_1?stream=true&starting_after=${after}`;
    expect(await call(url)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'starting_after' } },
    });
  });
});
