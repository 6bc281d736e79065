import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startPlatform, type App } from './platform.js';
import { SocketClient, terminalOf, textOf, type WireEvent } from './socket-client.js';

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

let app: App;
let client: SocketClient;
const clients: SocketClient[] = [];

async function connect(): Promise<SocketClient> {
  client = await SocketClient.connect(app.url);
  clients.push(client);
  return client;
}

function idOf(events: readonly WireEvent[]): string {
  return terminalOf(events).response.id;
}

beforeAll(async () => {
  app = await startPlatform();
});
afterAll(() => app.stop());
afterEach(() => {
  for (const each of clients.splice(0)) each.close();
});

describe('a turn over WebSocket', () => {
  it('streams created, in_progress, items and one terminal event, numbered from 0', async () => {
    await connect();
    const events = await client.create({ input: 'hello there' });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(new Set(events.flatMap(({ response }) => (response ? [response.id] : []))).size).toBe(1);
    const done = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(terminalOf(events).response.output).toEqual(done);
    expect(textOf(events)).toContain('hello there');
    expect(events.every(({ stream_id }) => stream_id === undefined)).toBe(true);
  });

  it('continues a store:false chain with new items only', async () => {
    await connect();
    const first = await client.create({ input: 'weather in Oslo?', tools: [WEATHER], store: false });
    const call = terminalOf(first).response.output.find(({ type }) => type === 'function_call');
    expect(JSON.parse(call?.arguments ?? '')).toHaveProperty('city');
    const second = await client.create({
      tools: [WEATHER],
      store: false,
      previous_response_id: idOf(first),
      input: [{ type: 'function_call_output', call_id: call?.call_id, output: 'four degrees and rain' }],
    });
    expect(textOf(second)).toContain('four degrees and rain');
    const third = await client.create({
      tools: [WEATHER],
      store: false,
      previous_response_id: idOf(second),
      input: 'and what did I ask first? [sim calls=0]',
    });
    expect(terminalOf(third).response.status).toBe('completed');
    expect(terminalOf(third).response.usage?.input_tokens).toBeGreaterThan(
      terminalOf(second).response.usage?.input_tokens ?? Infinity,
    );
  });

  it('reports the whole previous prompt and output as cached in a tool loop', async () => {
    await connect();
    let events = await client.create({ input: 'go on [sim calls=4]', tools: [WEATHER] });
    for (let turn = 0; turn < 4; turn++) {
      const before = terminalOf(events).response;
      const call = before.output.find(({ type }) => type === 'function_call');
      events = await client.create({
        tools: [WEATHER],
        previous_response_id: before.id,
        input: [{ type: 'function_call_output', call_id: call?.call_id, output: `output ${turn}` }],
      });
      const usage = terminalOf(events).response.usage;
      const previous = (before.usage?.input_tokens ?? 0) + (before.usage?.output_tokens ?? 0);
      expect(usage?.input_tokens_details.cached_tokens).toBeGreaterThanOrEqual(previous);
    }
    expect(textOf(events)).toContain('output 3');
  });

  it('answers a warm-up without output, and the next turn sees its items', async () => {
    await connect();
    const warm = await client.create({ generate: false, input: 'remember the word marmalade' });
    expect(warm.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
    ]);
    expect(terminalOf(warm).response).toMatchObject({
      output: [],
      status: 'completed',
      usage: { output_tokens: 0 },
    });
    const next = await client.create({ previous_response_id: idOf(warm), input: 'go' });
    expect(textOf(next)).toContain('message 2');
    const empty = await client.create({ generate: false, input: [] });
    const after = await client.create({ previous_response_id: idOf(empty), input: 'only this' });
    expect(textOf(after)).toContain('message 1');
  });

  it('forks one parent into two continuations that do not see each other', async () => {
    await connect();
    const root = await client.create({ input: 'root', store: false });
    const left = await client.create({ previous_response_id: idOf(root), input: 'left side', store: false });
    const right = await client.create({
      previous_response_id: idOf(root),
      input: 'right side',
      store: false,
    });
    expect(textOf(left)).toContain('left side');
    expect(textOf(right)).toContain('right side');
    expect(textOf(right)).not.toContain('left');
    expect(textOf(right)).toContain('message 2');
  });

  it('ends as incomplete at max_output_tokens, and can be continued from there', async () => {
    await connect();
    const cut = await client.create({ input: 'talk [sim tokens=500]', max_output_tokens: 20 });
    expect(cut.at(-1)?.type).toBe('response.incomplete');
    expect(terminalOf(cut).response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 20 },
    });
    const next = await client.create({ previous_response_id: idOf(cut), input: 'continue please' });
    expect(textOf(next)).toContain('continue please');
  });
});

describe('bad frames', () => {
  it.each([
    ['not JSON', 'not json', 'invalid_json', null],
    ['an array', '[]', 'invalid_type', null],
    ['null', 'null', 'invalid_type', null],
    ['no type', '{}', 'unknown_event_type', 'type'],
    ['an unknown type', '{"type":"response.createe"}', 'unknown_event_type', 'type'],
    ['Nest routing', '{"event":"response.create"}', 'unknown_event_type', 'type'],
    ['a binary frame', Buffer.from('{"type":"response.create"}'), 'binary_frame', null],
    ['deep JSON', '['.repeat(100_000), 'json_too_deep', null],
    ['no model', '{"type":"response.create","input":"x"}', 'missing_required_parameter', 'model'],
    [
      'a wrong field',
      '{"type":"response.create","model":"sim","input":"x","store":"yes"}',
      'invalid_type',
      'store',
    ],
    [
      'an unknown item',
      '{"type":"response.create","model":"sim","input":[{"type":"nonsense"}]}',
      'invalid_value',
      'input[0].type',
    ],
    ['an unknown model', '{"type":"response.create","model":"nope","input":"x"}', 'model_not_found', 'model'],
    [
      'background',
      '{"type":"response.create","model":"sim","input":"x","background":true}',
      'unsupported_parameter',
      'background',
    ],
    [
      'an empty stream_id',
      '{"type":"response.create","model":"sim","input":"x","stream_id":""}',
      'invalid_stream_id',
      'stream_id',
    ],
    [
      'a bad stream_id',
      '{"type":"response.create","model":"sim","input":"x","stream_id":"a b"}',
      'invalid_stream_id',
      'stream_id',
    ],
  ])('%s gets one precise error, and the socket lives on', async (_name, frame, code, param) => {
    await connect();
    client.send(frame);
    await client.until(() => client.events.length > 0);
    const events = await client.create({ input: 'still there?' });
    expect(client.events.filter(({ type }) => type === 'error')).toHaveLength(1);
    expect(client.events[0]).toMatchObject({ type: 'error', error: { code, param } });
    const headers = { 'x-request-id': expect.stringMatching(/^req_/) };
    expect(client.events[0]).toMatchObject({ headers, error: { headers } });
    expect(client.events[0]?.status).toBeGreaterThanOrEqual(400);
    expect(events.at(-1)?.type).toBe('response.completed');
  });

  it('names an unknown previous response exactly', async () => {
    await connect();
    const events = await client.create({
      previous_response_id: 'resp_gone',
      input: 'go on',
      stream_id: 'main',
    });
    const headers = { 'x-request-id': expect.stringMatching(/^req_/) };
    expect(events).toEqual([
      {
        type: 'error',
        status: 400,
        headers,
        sequence_number: 0,
        stream_id: 'main',
        error: {
          headers,
          type: 'invalid_request_error',
          code: 'previous_response_not_found',
          message: "Previous response with id 'resp_gone' not found.",
          param: 'previous_response_id',
        },
      },
    ]);
  });

  it('is silent on response.processed and refuses control events as documented', async () => {
    await connect();
    client.send({ type: 'response.processed', response_id: 'resp_1' });
    client.send({ type: 'response.interrupt', response_id: 'resp_1' });
    await client.until(() => client.events.length > 0);
    expect(client.events).toHaveLength(1);
    expect(client.events[0]).toMatchObject({ type: 'response.interrupt.failed', response_id: 'resp_1' });
  });

  it('closes with 1009 on a frame over the limit and 1007 on invalid UTF-8', async () => {
    await connect();
    client.send('x'.repeat(16 * 1024 * 1024 + 1));
    expect((await client.untilClosed()).code).toBe(1009);
    await connect();
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect((await client.untilClosed()).code).toBe(1007);
  });
});

describe('eviction', () => {
  const orphan = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }];

  it('a failed same-lane continuation evicts its store:false parent', async () => {
    await connect();
    const root = await client.create({ input: 'a', store: false });
    const failed = await client.create({ previous_response_id: idOf(root), input: orphan, store: false });
    expect(failed[0]?.error?.message).toBe(
      'No tool call found for function call output with call_id call_none.',
    );
    const again = await client.create({ previous_response_id: idOf(root), input: 'b', store: false });
    expect(again[0]?.error?.code).toBe('previous_response_not_found');
  });

  it('a failed fork in another lane does not', async () => {
    await connect();
    const root = await client.create({ input: 'a', store: false, stream_id: 'main' });
    const failed = await client.create({
      previous_response_id: idOf(root),
      input: orphan,
      stream_id: 'critic',
    });
    expect(failed[0]).toMatchObject({ type: 'error', stream_id: 'critic' });
    const again = await client.create({ previous_response_id: idOf(root), input: 'b', stream_id: 'main' });
    expect(again.at(-1)?.type).toBe('response.completed');
  });

  it('a stored parent can still be continued, also on another connection', async () => {
    await connect();
    const root = await client.create({ input: 'a' });
    await client.create({ previous_response_id: idOf(root), input: orphan });
    await connect();
    const again = await client.create({ previous_response_id: idOf(root), input: 'b' });
    expect(textOf(again)).toContain('message 2');
  });

  it('a store:false response is unknown to other connections', async () => {
    await connect();
    const root = await client.create({ input: 'a', store: false });
    await connect();
    const other = await client.create({ previous_response_id: idOf(root), input: 'b' });
    expect(other[0]?.error?.code).toBe('previous_response_not_found');
  });
});

describe('lanes', () => {
  it('run first in, first out inside, in parallel across, and echo their stream_id', async () => {
    await connect();
    for (const lane of ['a', 'b', 'a']) {
      client.send({
        type: 'response.create',
        model: 'sim',
        stream_id: lane,
        input: `lane ${lane} [sim stall=50 tokens=40]`,
      });
    }
    const ends = () => client.events.filter(({ type }) => type === 'response.completed');
    await client.until(() => ends().length === 3);
    expect(client.events.every(({ stream_id }) => stream_id === 'a' || stream_id === 'b')).toBe(true);
    const order = client.events
      .filter(({ type }) => type === 'response.created' || type === 'response.completed')
      .map(({ type, stream_id }) => `${stream_id} ${type.slice(9)}`);
    expect(order.filter((each) => each.startsWith('a'))).toEqual([
      'a created',
      'a completed',
      'a created',
      'a completed',
    ]);
    expect(order.slice(0, 2).sort()).toEqual(['a created', 'b created']);
  });

  it('queue ten requests on the default lane in order', async () => {
    await connect();
    for (let index = 0; index < 10; index++)
      client.send({ type: 'response.create', model: 'sim', input: `number ${index}` });
    const ends = () => client.events.filter(({ type }) => type === 'response.completed');
    await client.until(() => ends().length === 10);
    ends().forEach((event, index) => expect(textOf([event])).toContain(`number ${index}`));
  });

  it('run 16 at once and the 17th later', async () => {
    await connect();
    for (let index = 0; index < 17; index++) {
      client.send({
        type: 'response.create',
        model: 'sim',
        stream_id: `lane${index}`,
        input: 'x [sim stall=300]',
      });
    }
    await client.until(() => client.events.some(({ type }) => type === 'response.completed'));
    const first = client.events.findIndex(({ type }) => type === 'response.completed');
    const begun = new Set(client.events.slice(0, first).map(({ stream_id }) => stream_id));
    expect(begun.size).toBe(16);
    await client.until(() => client.events.filter(({ type }) => type === 'response.completed').length === 17);
  });

  it('refuse the 33rd name and keep the others and the default lane', async () => {
    await connect();
    for (let index = 0; index < 32; index++) {
      await client.create({ stream_id: `lane${index}`, generate: false, input: [] });
    }
    const refused = await client.create({ stream_id: 'one-more', generate: false });
    expect(refused[0]).toMatchObject({
      stream_id: 'one-more',
      error: { code: 'websocket_stream_limit_reached' },
    });
    expect((await client.create({ stream_id: 'lane3', generate: false })).at(-1)?.type).toBe(
      'response.completed',
    );
    expect((await client.create({ generate: false })).at(-1)?.type).toBe('response.completed');
  });

  it('an error of an unreadable request waits for its place in the lane', async () => {
    await connect();
    client.send({ type: 'response.create', model: 'sim', input: 'first [sim stall=50]' });
    client.send({ type: 'response.create', model: 'sim', input: [{ type: 'nonsense' }] });
    await client.until(() => client.events.some(({ type }) => type === 'error'));
    expect(client.events.at(-2)?.type).toBe('response.completed');
    expect(client.events.at(-1)?.type).toBe('error');
  });
});

describe('engine faults', () => {
  it.each([
    ['an engine that dies', '[sim die=8]'],
    ['an error inside the stream', '[sim error=8]'],
  ])('%s: one response.failed with what was sampled, and the socket lives on', async (_name, marker) => {
    await connect();
    const events = await client.create({ input: `x ${marker}`, reasoning: { effort: 'high' } });
    expect(events.filter(({ type }) => type.startsWith('response.fail'))).toHaveLength(1);
    expect(terminalOf(events).response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(terminalOf(events).response.usage?.output_tokens).toBeGreaterThan(0);
    expect((await client.create({ input: 'y' })).at(-1)?.type).toBe('response.completed');
  });

  it('an overloaded engine is a rate limit that says when to try again', async () => {
    await connect();
    const events = await client.create({ input: 'x [sim status=503]' });
    expect(terminalOf(events).response.error).toEqual({
      code: 'rate_limit_exceeded',
      message: 'The inference engine is overloaded right now. Please try again in 1s.',
    });
  });

  it('broken Harmony still gives an answer', async () => {
    await connect();
    for (const kind of ['header', 'stray', 'nomessage', 'noend']) {
      const events = await client.create({ input: `x [sim broken=${kind}]` });
      expect([kind, events.at(-1)?.type]).toEqual([kind, 'response.completed']);
    }
  });

  it('emoji and Hangul that tokens split arrive whole', async () => {
    await connect();
    const events = await client.create({ input: 'x [sim emoji=1]' });
    const deltas = events
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => delta ?? '');
    expect(deltas.join('')).toBe(textOf(events));
    expect(deltas.every((delta) => delta.isWellFormed() && !delta.includes('�'))).toBe(true);
  });
});
