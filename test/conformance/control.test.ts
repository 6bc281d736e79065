import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { interrupted } from './kinds.js';
import { Stand } from '../e2e/stand.js';
import { checkStream, idOf, terminal } from './stream-rules.js';
import { connect, overBoth, type Body } from './transports.js';

let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start(['store: { kind: memory }']);
});
afterAll(() => stand.stop());
beforeEach(async () => {
  client = await SocketClient.connect(stand.url);
});
afterEach(() => client.close());

const here = () => stand;
const isEnd = ({ type }: WireEvent) => /^(error|response\.(completed|incomplete|failed))$/.test(type);
const LONG = 'x [sim stall=60000 tokens=400]';

function send(body: Body): void {
  client.send({ type: 'response.create', model: 'sim', ...body });
}

/** Waits for a new event that passes, and returns it. */
async function next(passes: (event: WireEvent) => boolean): Promise<WireEvent> {
  const from = client.events.length;
  await client.until(() => client.events.slice(from).some(passes));
  return client.events.slice(from).find(passes) ?? { type: 'nothing' };
}

/** Begins a response, and waits until it has said something. */
async function begun(body: Body = { input: LONG }): Promise<string> {
  const delta = next(({ type, stream_id }) => type.endsWith('.delta') && stream_id === body['stream_id']);
  send(body);
  await delta;
  const created = client.events.findLast(
    ({ type, stream_id }) => type === 'response.created' && stream_id === body['stream_id'],
  );
  return created?.response?.id ?? '';
}

describe('response.steer', () => {
  const CODES = [
    'response_not_found',
    'invalid_input',
    'steering_not_supported',
    'too_many_pending_steers',
    'response_already_completed',
    'response_not_active',
    'successor_creation_failed',
  ];
  const isAnswer = ({ type }: WireEvent) => /^response\.steer\.(accepted|failed)$/.test(type);
  const MESSAGE = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'stop' }] }];

  function checkFailed(answer: WireEvent, sent: Body): void {
    expect(answer.type).toBe('response.steer.failed');
    expect(CODES).toContain(answer.error?.code);
    expect(answer).toMatchObject({
      sequence_number: expect.any(Number),
      error: { type: 'invalid_request_error', message: expect.any(String) },
      steer: { previous_response_id: sent['previous_response_id'], input: sent['input'] },
    });
  }

  it.each<[string, unknown]>([
    ['text', 'stop'],
    ['a message', MESSAGE],
    ['an easy message', [{ role: 'user', content: 'stop' }]],
    ['nothing', []],
    ['another role', [{ type: 'message', role: 'system', content: 'x' }]],
    ['no message', [{ type: 'function_call_output', call_id: 'c', output: 'x' }]],
    ['a number', 5],
  ])('82. of a response that is not there fails and gives back its input: %s', async (_name, input) => {
    const ended = idOf(await client.create({ input: 'x', stream_id: 'main' }));
    for (const previous_response_id of ['resp_unknown', ended]) {
      const sent = { previous_response_id, input };
      const answer = next(isAnswer);
      client.send({ type: 'response.steer', ...sent });
      checkFailed(await answer, sent);
    }
    checkStream(await client.create({ input: 'still there?' }));
  });

  it('82. of a running response is answered at once, past the queue, and the response ends properly', async () => {
    const id = await begun({ input: 'x [sim stall=400 tokens=60]', stream_id: 'main' });
    send({ input: 'queued', stream_id: 'main' });
    const sent = { previous_response_id: id, input: MESSAGE };
    const answer = next(isAnswer);
    client.send({ type: 'response.steer', ...sent });
    if ((await answer).type === 'response.steer.failed') checkFailed(await answer, sent);
    expect(client.events.filter(isEnd)).toEqual([]);
    await client.until(() => client.events.filter(isEnd).length >= 2);
    for (const event of client.events.filter(isEnd)) expect(event.type).not.toBe('error');
  });

  it('82. without its fields fails, and is no error of the connection', async () => {
    for (const sent of [
      {},
      { previous_response_id: 5, input: {} },
      { input: 'x' },
      { previous_response_id: 'resp_1' },
    ]) {
      const answer = next(({ type }) => type === 'response.steer.failed' || type === 'error');
      client.send({ type: 'response.steer', ...sent });
      expect((await answer).type).toBe('response.steer.failed');
    }
  });
});

describe('response.interrupt', () => {
  const isAnswer = ({ type }: WireEvent) => type.startsWith('response.interrupt.');

  it.each([undefined, 'main'])(
    '83. ends a response with what is finished of it, in lane %s',
    async (lane) => {
      const events = await interrupted(client, lane);
      checkStream(events);
      expect(events.slice(-3).map(({ type }) => type)).toEqual([
        'response.interrupt.accepted',
        'response.output_item.interrupted',
        'response.incomplete',
      ]);
      const { response } = terminal(events);
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'interrupted' },
        error: null,
      });
      expect(response.output.map(({ type, status }) => [type, status])).toEqual([['reasoning', 'completed']]);
      expect(events.at(-3)).toMatchObject({ response_id: response.id, response: null });
      expect(events.at(-2)).toMatchObject({
        response_id: response.id,
        item_id: expect.stringMatching(/^msg_/),
        output_index: 1,
      });
      await stand.untilIdle();
    },
  );

  it.each<[string, Body]>([
    ['no mode', {}],
    ['a lane', { stream_id: 'main' }],
    ['an unknown mode', { mode: 'keep_partial_items' }],
    ['a mode of another type', { mode: 5 }],
  ])('83. with %s is answered, and the response ends once', async (_name, more) => {
    const id = await begun({ input: LONG, stream_id: 'main' });
    client.send({ type: 'response.interrupt', response_id: id, ...more });
    await client.until(() => client.events.some(isEnd));
    checkStream(client.events.filter(({ stream_id }) => stream_id === 'main'));
  });

  it('83. before the first token ends it without output', async () => {
    const created = next(({ type }) => type === 'response.created');
    send({ input: 'x [sim stall=60000 tokens=40 reason=0]', reasoning: { effort: 'low' } });
    client.send({ type: 'response.interrupt', response_id: (await created).response?.id });
    await client.until(() => client.events.some(isEnd));
    checkStream(client.events);
    expect(client.events.at(-1)).toMatchObject({
      response: { output: [], incomplete_details: { reason: 'interrupted' } },
    });
    await stand.untilIdle();
  });

  it('83. goes past the queue of its lane, which then runs', async () => {
    const id = await begun();
    for (const input of ['second', 'third']) send({ input });
    client.send({ type: 'response.interrupt', response_id: id, mode: 'discard_partial_items' });
    await client.until(() => client.events.filter(isEnd).length === 3);
    const ends = client.events.filter(isEnd);
    expect(ends.map(({ type }) => type)).toEqual([
      'response.incomplete',
      'response.completed',
      'response.completed',
    ]);
    expect([textOf(ends.slice(1, 2)), textOf(ends.slice(2))]).toEqual([
      expect.stringContaining('second'),
      expect.stringContaining('third'),
    ]);
  });

  it('83. ends no other response', async () => {
    const lanes = ['a', 'b', 'c'];
    const ids = [];
    for (const stream_id of lanes) ids.push(await begun({ stream_id, input: 'x [sim stall=300 tokens=60]' }));
    client.send({ type: 'response.interrupt', response_id: ids[1] });
    await client.until(() => client.events.filter(isEnd).length === 3);
    for (const lane of lanes) {
      const events = client.events.filter(({ stream_id }) => stream_id === lane);
      checkStream(events);
      expect(events.at(-1)?.type).toBe(lane === 'b' ? 'response.incomplete' : 'response.completed');
    }
  });

  it('83. twice is accepted once', async () => {
    const id = await begun();
    for (let times = 0; times < 3; times++) client.send({ type: 'response.interrupt', response_id: id });
    await client.until(() => client.events.some(isEnd) && client.events.filter(isAnswer).length === 3);
    const answers = client.events.filter(isAnswer).map(({ type }) => type);
    expect(answers.filter((type) => type === 'response.interrupt.accepted')).toHaveLength(1);
    expect(client.events.filter(isEnd)).toHaveLength(1);
  });

  it('83. of anything else fails, whatever it names, and nothing hangs', async () => {
    const other = await SocketClient.connect(stand.url);
    other.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=300 tokens=30]' });
    await other.until(() => other.events.some(({ type }) => type.endsWith('.delta')));
    const ended = idOf(await client.create({ input: 'x' }));
    const warm = idOf(await client.create({ generate: false }));
    const running = other.events[0]?.response?.id;
    for (const response_id of [
      running,
      ended,
      warm,
      'resp_unknown',
      '',
      null,
      undefined,
      5,
      {},
      ['resp_1'],
    ]) {
      for (const more of [{}, { stream_id: 'main' }]) {
        const answer = next(isAnswer);
        client.send({ type: 'response.interrupt', response_id, mode: 'discard_partial_items', ...more });
        expect(await answer).toMatchObject({
          type: 'response.interrupt.failed',
          response_id: response_id ?? null,
          error: {
            type: 'invalid_request_error',
            param: 'response_id',
            message: expect.any(String),
            code: expect.any(String),
          },
          ...more,
        });
      }
    }
    await other.until(() => other.events.some(isEnd));
    checkStream(other.events);
    expect(other.events.at(-1)?.type).toBe('response.completed');
    other.close();
  });

  it('83. at any moment of a response leaves it with one end', async () => {
    for (let round = 0; round < 40; round++) {
      const from = client.events.length;
      const created = next(({ type }) => type === 'response.created');
      send({
        input: `x [sim tokens=${round * 20} parallel=2]`,
        tools: round % 2 === 0 ? [] : [{ type: 'function', name: 'f' }],
      });
      const id = (await created).response?.id;
      if (round % 4 > 0) await new Promise((resolve) => setTimeout(resolve, round % 4));
      client.send({ type: 'response.interrupt', response_id: id });
      await client.until(
        () => client.events.slice(from).some(isEnd) && client.events.slice(from).some(isAnswer),
      );
      const own = client.events.slice(from).filter(({ type }) => type !== 'response.interrupt.failed');
      checkStream(own);
      expect(['response.incomplete', 'response.completed']).toContain(own.at(-1)?.type);
    }
  });
});

describe('a response that was not completed', () => {
  it.each([true, false])(
    '84. can be continued from where it was interrupted, with store: %s',
    async (store) => {
      const id = await begun({ input: 'first [sim reason=3 tokens=300000]', store });
      await client.until(() => client.events.some(({ type }) => type === 'response.output_item.done'));
      client.send({ type: 'response.interrupt', response_id: id });
      await client.until(() => client.events.some(isEnd));
      stand.takePrompts();
      for (const stream_id of [undefined, 'fork']) {
        const events = await client.create({ previous_response_id: id, input: 'instead', store, stream_id });
        checkStream(events);
        expect(textOf(events)).toContain('You said: "instead". (message 2');
      }
      for (const prompt of stand.takePrompts()) expect(prompt).toContain('first [sim');
      if (!store) return;
      const http = await connect('http', stand);
      expect(textOf(await http.create({ previous_response_id: id, input: 'later' }))).toContain('message 2');
      const stored = (await (await fetch(`${stand.url}/v1/responses/${id}`)).json()) as object;
      expect(stored).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'interrupted' } });
    },
  );

  overBoth(
    '84. can be continued from where its limit cut it, in an answer or in a call',
    here,
    async (http) => {
      const tools = [
        {
          type: 'function',
          name: 'get_weather',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ];
      for (const cut of [
        { input: 'talk [sim tokens=300]', max_output_tokens: 20 },
        { input: 'think', max_output_tokens: 8 },
        { input: 'a question of some words', tools, reasoning: { effort: 'low' }, max_output_tokens: 18 },
        { input: 'x', max_output_tokens: 1 },
      ]) {
        const first = await http.create(cut);
        expect(terminal(first).response.status).toBe('incomplete');
        const second = await http.create({ previous_response_id: idOf(first), input: 'go on' });
        expect(textOf(second)).toContain('You said: "go on". (message 2');
        // The items of both can be sent back whole as well.
        const { output } = terminal(first).response;
        const replay = await http.create({
          input: [{ role: 'user', content: cut.input }, ...output, { role: 'user', content: 'go on' }],
        });
        expect(textOf(replay)).toContain('message 2');
      }
    },
  );
});
