import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { SocketClient, type WireEvent, type WireUsage } from '../e2e/socket-client.js';
import { interrupted, KINDS, WEATHER, type Kind } from './kinds.js';
import { checkEvent } from './event-shape.js';
import { usage } from './response-shape.js';
import { Stand } from '../e2e/stand.js';
import { STREAM_RULES, terminal } from './stream-rules.js';
import { connect, overBoth, postJson, TRANSPORTS, type Transport } from './transports.js';

const INTERRUPTED = 'an interruption';

let stand: Stand;
/** The events of every kind of response, by transport and kind; the text of each message on the socket. */
const streams = new Map<
  string,
  { kind: Kind | undefined; events: WireEvent[]; promptTokens: number | undefined }
>();
let raw: string[] = [];

const keyOf = (transport: Transport, name: string) => `${name}, over ${transport}`;

beforeAll(async () => {
  stand = await Stand.start();
  for (const transport of TRANSPORTS) {
    const client = await connect(transport, stand);
    for (const kind of KINDS) {
      stand.takePromptIds();
      const events = await client.create(kind.request);
      streams.set(keyOf(transport, kind.name), {
        kind,
        events,
        promptTokens: stand.takePromptIds()[0]?.length,
      });
    }
    client.close();
  }
  const socket = await SocketClient.connect(stand.url);
  for (const lane of [undefined, 'main']) {
    const events = await interrupted(socket, lane);
    const promptTokens = stand.takePromptIds()[0]?.length;
    streams.set(keyOf('websocket', `${INTERRUPTED} in ${lane ?? 'the default lane'}`), {
      kind: undefined,
      events,
      promptTokens,
    });
  }
  ({ raw } = socket);
  socket.close();
});
afterAll(() => stand.stop());
const here = () => stand;

/** Runs a check on every stream, naming the one that does not pass. */
function onEvery(
  check: (events: WireEvent[], kind: Kind | undefined, promptTokens: number | undefined) => void,
): void {
  expect(streams.size).toBe(2 * KINDS.length + 2);
  for (const [name, { events, kind, promptTokens }] of streams) {
    try {
      check(events, kind, promptTokens);
    } catch (thrown) {
      throw new Error(`${name}: ${(thrown as Error).message}`, { cause: thrown });
    }
  }
}

describe('every kind of response, over both transports', () => {
  it('48. ends as it has to, with the output that it has to have', () => {
    onEvery((events, kind) => {
      const { response } = terminal(events);
      expect(response.status).toBe(kind?.ends ?? 'incomplete');
      expect(response.output.map(({ type }) => type)).toEqual(kind?.output ?? ['reasoning']);
    });
  });

  for (const { line, says, check } of STREAM_RULES) {
    it(`${line}. ${says}`, () => onEvery((events) => check(events)));
  }

  it('43. items do not overlap, and begin empty and in progress', () => {
    onEvery((events) => {
      for (const { item, type } of events) {
        if (type !== 'response.output_item.added') continue;
        expect(item).toMatchObject({ status: 'in_progress' });
        expect(item?.content ?? item?.arguments ?? item?.['input']).toHaveLength(0);
      }
    });
  });

  it('45. only the last item of a response that was cut is incomplete', () => {
    onEvery((events, kind) => {
      const { output } = terminal(events).response;
      const wholeness = output.map(({ status }) => status);
      const cut = kind?.ends === 'incomplete' || /dies in|error inside/.test(kind?.name ?? '');
      expect(wholeness.slice(0, -1).every((each) => each === 'completed')).toBe(true);
      if (output.length > 0) expect(wholeness.at(-1)).toBe(cut ? 'incomplete' : 'completed');
    });
  });

  it('47. and the text of reasoning, sealed as well', () => {
    onEvery((events) => {
      for (const item of terminal(events).response.output) {
        if (item.type !== 'reasoning') continue;
        expect(item).toMatchObject({ summary: [], content: [{ type: 'reasoning_text' }] });
        expect(item['encrypted_content']).toMatch(/./);
      }
    });
  });

  it('50. nothing on a socket is framed like an SSE event, and nothing says [DONE]', () => {
    for (const text of raw) expect(text).toMatch(/^\{"type":"[^]*\}$/);
    expect(raw.filter((text) => text.includes('[DONE]'))).toEqual([]);
  });

  it('51. usage is complete, in integers, and counts the prompt that was read', () => {
    onEvery((events, kind, promptTokens) => {
      const used = usage.parse(terminal(events).response.usage);
      // What is opened for the model is not what the client sent.
      const opened = kind?.name === 'a call that was forced at once';
      if (promptTokens !== undefined && !opened) expect(used.input_tokens).toBe(promptTokens);
      for (const { response } of events.slice(0, 2)) expect(response?.usage).toBeNull();
    });
  });

  it('51. and what was produced, cut short or failed', () => {
    onEvery((events, kind) => {
      const used = terminal(events).response.usage;
      const produced = (used?.output_tokens ?? 0) > 0;
      const nothing = /warm-up|before anything|refuses|overloaded/.test(kind?.name ?? '');
      expect(produced || nothing).toBe(true);
      const limit = kind?.request['max_output_tokens'];
      if (kind?.ends === 'incomplete' && limit !== undefined) expect(used?.output_tokens).toBe(limit);
      const reasons = terminal(events).response.output.some(({ type }) => type === 'reasoning');
      expect((used?.output_tokens_details.reasoning_tokens ?? 0) > 0).toBe(reasons);
    });
  });

  it('55. every event, and every response and item in it, has the shape that schemas ask for', () => {
    onEvery((events) => events.forEach(checkEvent));
  });
});

describe('usage', () => {
  overBoth(
    '51. counts the whole context of a continuation, as a request that brings all of it would',
    here,
    async (client) => {
      const first = await client.create({ input: 'x', tools: [WEATHER], reasoning: { effort: 'low' } });
      const [call] = terminal(first).response.output;
      const output = { type: 'function_call_output', call_id: call?.call_id, output: 'four degrees' };
      const second = await client.create({
        previous_response_id: terminal(first).response.id,
        input: [output],
        tools: [WEATHER],
        reasoning: { effort: 'low' },
      });
      const before = terminal(first).response.usage;
      const after = terminal(second).response.usage;
      expect(after?.input_tokens).toBeGreaterThan(before?.total_tokens ?? Infinity);
      expect(after?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
      const replay = await client.create({
        input: [{ role: 'user', content: 'x' }, call, output],
        tools: [WEATHER],
        reasoning: { effort: 'low' },
        store: false,
      });
      expect(terminal(replay).response.usage?.input_tokens).toBe(after?.input_tokens);
    },
  );

  it('51. is what input_tokens says beforehand', async () => {
    const request = {
      input: 'count me',
      instructions: 'Be brief.',
      tools: [WEATHER],
      reasoning: { effort: 'high' },
    };
    const counted = await postJson(stand.url, request, {}, '/v1/responses/input_tokens');
    const answered = await postJson(stand.url, request);
    const { usage: used } = JSON.parse(answered.text) as { usage: WireUsage };
    expect(JSON.parse(counted.text)).toEqual({
      object: 'response.input_tokens',
      input_tokens: used.input_tokens,
    });
  });
});

describe('the openai SDK', () => {
  const kinds = KINDS.filter(({ ends, output }) => ends !== 'failed' && output.length > 0);

  it.each(kinds)(
    '56. responses.stream() puts together what the server said: $name',
    async ({ request, ends }) => {
      const openai = new OpenAI({ apiKey: 'unused', baseURL: `${stand.url}/v1`, maxRetries: 0 });
      const stream = openai.responses.stream({ model: 'sim', ...request });
      let said: unknown;
      stream.on(`response.${ends}` as 'response.completed', ({ response }) => (said = response.output));
      const final = await stream.finalResponse();
      expect(final.status).toBe(ends);
      expect(final.output).toMatchObject(JSON.parse(JSON.stringify(said)) as object);
    },
  );

  it('56. ResponsesWS passes every event on, and an error as one', async () => {
    const openai = new OpenAI({ apiKey: 'unused', baseURL: `${stand.url}/v1` });
    const socket = new ResponsesWS(openai);
    const events: WireEvent[] = [];
    const errors: unknown[] = [];
    socket.on('event', (event) => events.push(event as unknown as WireEvent));
    socket.on('error', (error) => errors.push(error));
    const until = async (done: () => boolean) => {
      while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
    };
    for (const input of ['one', 'two'])
      socket.send({ type: 'response.create', model: 'sim', input, store: false });
    await until(() => events.filter(({ type }) => type === 'response.completed').length === 2);
    const end = events.findIndex(({ type }) => type === 'response.completed') + 1;
    for (const own of [events.slice(0, end), events.slice(end)]) {
      for (const { check } of STREAM_RULES) check(own);
    }
    expect(errors).toEqual([]);
    socket.send({ type: 'response.create', model: 'sim', input: 'x', previous_response_id: 'resp_gone' });
    await until(() => errors.length > 0);
    expect(errors[0]).toMatchObject({ error: { error: { code: 'previous_response_not_found' } } });
    socket.close();
  });
});
