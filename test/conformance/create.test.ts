import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { checkStream, idOf, terminal } from './stream-rules.js';
import { connect, normalised, overBoth, type Body } from './transports.js';

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

/** Sends one frame, and expects one error, then a connection that works. */
async function refused(frame: unknown): Promise<WireEvent> {
  const client = await SocketClient.connect(stand.url);
  client.send(frame);
  await client.until(() => client.events.length > 0);
  const [error] = client.events;
  const after = await client.create({ input: 'still there?' });
  expect(after.at(-1)?.type).toBe('response.completed');
  expect(client.events.filter(({ type }) => type === 'error')).toHaveLength(1);
  client.close();
  checkStream([error ?? { type: 'nothing' }]);
  return error ?? { type: 'nothing' };
}

describe('a request', () => {
  overBoth(
    '17. of model and input streams created, in_progress, its items and completed',
    here,
    async (client) => {
      const events = await client.create({ input: 'hi' });
      const types = normalised(events).map(({ type }) => type);
      expect(types).toEqual([
        'response.created',
        'response.in_progress',
        ...['reasoning_text', 'output_text'].flatMap((text) => [
          'response.output_item.added',
          'response.content_part.added',
          `response.${text}.delta`,
          `response.${text}.done`,
          'response.content_part.done',
          'response.output_item.done',
        ]),
        'response.completed',
      ]);
      expect(textOf(events)).toContain('You said: "hi"');
    },
  );

  it.each([true, false, null])('18. streams on a socket whatever `stream` says: %s', async (stream) => {
    const client = await connect('websocket', stand);
    const plain = normalised(await client.create({ input: 'hi', store: false }));
    const events = await client.create({
      input: 'hi',
      store: false,
      stream,
      stream_options: { include_obfuscation: true },
    });
    expect(events.map(({ type }) => type)).toContain('response.output_text.delta');
    expect(normalised(events).map(({ type }) => type)).toEqual(plain.map(({ type }) => type));
    client.close();
  });

  it.each([{}, { stream_id: 'main' }, { store: false }, { stream: true }])(
    '19. with background: true is a 400 on a socket, which stays open: %j',
    async (more) => {
      const error = await refused({
        type: 'response.create',
        model: 'sim',
        input: 'x',
        background: true,
        ...more,
      });
      expect(error).toMatchObject({
        status: 400,
        error: { param: 'background', type: 'invalid_request_error' },
      });
      expect(error.stream_id).toBe((more as { stream_id?: string }).stream_id);
    },
  );

  overBoth('19. with background: false or null is any other request', here, async (client) => {
    for (const background of [false, null]) {
      expect(terminal(await client.create({ input: 'x', background })).response.status).toBe('completed');
    }
  });

  overBoth('20. means the same in every form its input may have', here, async (client) => {
    const hi = { type: 'input_text', text: 'hi' };
    const forms: unknown[] = [
      'hi',
      [{ role: 'user', content: 'hi' }],
      [{ role: 'user', content: [hi] }],
      [{ type: 'message', role: 'user', content: 'hi' }],
      [{ type: 'message', role: 'user', content: [hi], id: 'msg_1', status: 'completed' }],
      [{ type: null, id: null, status: null, phase: null, role: 'user', content: [{ ...hi, extra: 1 }] }],
    ];
    stand.takePromptIds();
    for (const input of forms) await client.create({ input, store: false });
    const prompts = stand.takePromptIds();
    expect(prompts).toHaveLength(forms.length);
    for (const prompt of prompts) expect(prompt).toEqual(prompts[0]);
  });

  overBoth('20. takes every role, with or without a type, in one input', here, async (client) => {
    const input = [
      { role: 'system', content: 'rule one' },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'rule two' }] },
      { role: 'user', content: 'question one' },
      { role: 'assistant', content: 'answer one', phase: 'final_answer' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'answer two' }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'answer three' }] },
      { role: 'user', content: [] },
      { role: 'user', content: 'question two' },
    ];
    stand.takePrompts();
    const events = await client.create({ input, store: false });
    expect(terminal(events).response.status).toBe('completed');
    const [prompt = ''] = stand.takePrompts();
    const said = [
      'rule one',
      'rule two',
      'question one',
      'answer one',
      'answer two',
      'answer three',
      'question two',
    ];
    const places = said.map((text) => prompt.indexOf(text));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  overBoth('21. may hold client_metadata and fields nobody knows, at every level', here, async (client) => {
    stand.takePromptIds();
    const plain: Body = { input: [{ role: 'user', content: 'hi' }], tools: [WEATHER], store: false };
    const odd: Body = {
      ...plain,
      input: [{ role: 'user', content: 'hi', cache_control: { type: 'ephemeral' }, internal: [1] }],
      reasoning: { mode: 'pro', generate_summary: 'auto', unknown: 1 },
      text: { unknown: null },
      client_metadata: { session_id: 's', 'x-codex-turn-metadata': '{"a":1}' },
      access_programs: ['a'],
      moderation: { mode: 'x' },
      image: { context_compression: true },
      background_options: { completion_window: '1h' },
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'implicit', ttl: '30m', comparison_response_id: 'resp_x' },
      multi_agent: { enabled: false },
      safety_identifier: 'someone',
      frobnicate: { deep: [{ er: null }] },
      '': 1,
      constructor: 'x',
    };
    for (const metadata of [undefined, null, 7, 'text', [], {}]) {
      const events = await client.create({
        ...odd,
        ...(metadata === undefined ? {} : { client_metadata: metadata }),
      });
      expect(terminal(events).response.status).toBe('completed');
    }
    await client.create(plain);
    const prompts = stand.takePromptIds();
    for (const prompt of prompts) expect(prompt).toEqual(prompts.at(-1));
  });

  it.each([
    ['words', 'not json'],
    ['nothing', ''],
    ['blanks', ' \n\t'],
    ['a broken object', '{"type":"response.create",'],
    ['two objects', '{"type":"response.create"}{"a":1}'],
    ['single quotes', "{'type':'response.create'}"],
    ['an SSE frame', 'event: x\ndata: {"type":"response.create"}\n\n'],
    ['NaN', '{"type":"response.create","temperature":NaN}'],
    ['a very deep list', '['.repeat(100_000)],
    ['[DONE]', '[DONE]'],
  ])('22. text that is no JSON is a nested 400: %s', async (_name, text) => {
    const error = await refused(text);
    expect(error).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', param: null },
    });
    expect(error.error?.code).toMatch(/^(invalid_json|json_too_deep)$/);
  });

  it.each([
    ['no type', {}],
    ['null', { type: null }],
    ['a number', { type: 5 }],
    ['a list', { type: ['response.create'] }],
    ['an empty type', { type: '' }],
    ['a typo', { type: 'response.createe', model: 'sim', input: 'x' }],
    ['capitals', { type: 'Response.Create', model: 'sim', input: 'x' }],
    ['blanks', { type: ' response.create', model: 'sim', input: 'x' }],
    ['another product', { type: 'session.update', session: {} }],
    ['an event of the server', { type: 'response.completed', response: {} }],
    ['what never existed', { type: 'response.cancel', response_id: 'resp_1' }],
    ['what never shipped', { type: 'response.prepend', input: 'x' }],
    ['a name of Object', { type: '__proto__' }],
    ['a method of Object', { type: 'toString' }],
    ['routing by event', { event: 'response.create', data: { model: 'sim' } }],
  ])('23. a frame of unknown type is a nested 400: %s', async (_name, frame) => {
    expect(await refused(frame)).toMatchObject({
      type: 'error',
      status: 400,
      error: { type: 'invalid_request_error', code: 'unknown_event_type', param: 'type' },
    });
  });

  it.each([[], null, 5, 'text', true])('23. a frame that is no object is a nested 400: %j', async (frame) => {
    expect(await refused(JSON.stringify(frame))).toMatchObject({
      type: 'error',
      status: 400,
      error: { param: null },
    });
  });

  it('23. the error names the lane of the frame where it has one', async () => {
    expect((await refused({ type: 'response.nonsense', stream_id: 'main' })).stream_id).toBe('main');
    expect(await refused({ type: 'response.nonsense', stream_id: 'not a lane' })).not.toHaveProperty(
      'stream_id',
    );
  });

  it('23. response.processed is met with silence', async () => {
    const client = await SocketClient.connect(stand.url);
    for (const more of [{}, { response_id: 'resp_1' }, { response_id: 5, stream_id: '' }]) {
      client.send({ type: 'response.processed', ...more });
    }
    checkStream(await client.create({ input: 'x' }));
    expect(client.events[0]?.type).toBe('response.created');
    client.close();
  });

  overBoth('24. for an unknown model is model_not_found, and no response begins', here, async (client) => {
    for (const model of [
      'nope',
      'SIM',
      'sim ',
      'gpt-4o',
      'a model with a long name',
      'x'.repeat(300),
      '__proto__',
    ]) {
      for (const more of [{}, { generate: false }, { tools: [WEATHER] }, { store: false }]) {
        expect(await client.create({ model, input: 'x', ...more })).toEqual([
          expect.objectContaining({
            type: 'error',
            error: expect.objectContaining({
              type: 'invalid_request_error',
              code: 'model_not_found',
              param: 'model',
            }),
          }),
        ]);
      }
    }
  });

  overBoth('24. without a model, or with one that is no name, is a 400 on it', here, async (client) => {
    for (const model of [undefined, null, '', 5, {}, ['sim']]) {
      const [error] = await client.create({ model, input: 'x' });
      expect(error).toMatchObject({ status: 400, error: { param: 'model' } });
    }
  });

  overBoth('20. without anything to answer is a 400 on input, but for a warm-up', here, async (client) => {
    const parent = idOf(await client.create({ input: 'x' }));
    for (const input of [undefined, null, [], [{ type: 'compaction_trigger' }]]) {
      expect(await client.create({ input, instructions: 'i' })).toMatchObject([
        { status: 400, error: { code: 'missing_required_parameter', param: 'input' } },
      ]);
    }
    for (const more of [{ previous_response_id: parent }, { generate: false }, { input: '' }]) {
      expect(terminal(await client.create({ input: null, ...more })).response.status).toBe('completed');
    }
  });

  overBoth('25. with both conversation and previous_response_id is a 400', here, async (client) => {
    const parent = idOf(await client.create({ input: 'x' }));
    for (const conversation of ['conv_1', { id: 'conv_1' }]) {
      for (const previous_response_id of [parent, 'resp_unknown']) {
        const events = await client.create({ input: 'x', conversation, previous_response_id });
        expect(events).toEqual([
          expect.objectContaining({
            status: 400,
            error: expect.objectContaining({ type: 'invalid_request_error', param: 'conversation' }),
          }),
        ]);
      }
    }
    const neither = await client.create({ input: 'x', conversation: null, previous_response_id: null });
    expect(terminal(neither).response.status).toBe('completed');
  });

  it('26. two on the default lane run one after the other, in order', async () => {
    const client = await SocketClient.connect(stand.url);
    client.send({ type: 'response.create', model: 'sim', input: 'first [sim stall=100 tokens=30]' });
    client.send({ type: 'response.create', model: 'sim', input: 'second' });
    await client.until(() => client.events.filter(({ type }) => type === 'response.completed').length === 2);
    const end = client.events.findIndex(({ type }) => type === 'response.completed') + 1;
    const [first, second] = [client.events.slice(0, end), client.events.slice(end)];
    for (const events of [first, second]) checkStream(events);
    expect([textOf(first), textOf(second)]).toEqual([
      expect.stringContaining('first'),
      expect.stringContaining('second'),
    ]);
    client.close();
  });

  it('27. ten of them all complete in order, failures among them', async () => {
    const client = await SocketClient.connect(stand.url);
    const inputs = Array.from({ length: 10 }, (_, index): unknown =>
      index === 3 ? 5 : index === 6 ? `number ${index} [sim die=2]` : `number ${index}`,
    );
    for (const input of inputs)
      client.send({ type: 'response.create', model: 'sim', input, store: index(input) });
    const isEnd = ({ type }: WireEvent) => /^(error|response\.(completed|failed))$/.test(type);
    await client.until(() => client.events.filter(isEnd).length === 10);
    const turns = inputs.map(() => {
      const length = client.events.findIndex(isEnd) + 1;
      return client.events.splice(0, length);
    });
    turns.forEach((events, index) => {
      checkStream(events);
      const end = events.at(-1);
      if (index === 3) expect(end).toMatchObject({ type: 'error', error: { param: 'input' } });
      else if (index === 6) expect(end?.type).toBe('response.failed');
      else expect(textOf(events)).toContain(`number ${index}`);
    });
    client.close();
  });

  overBoth('28. leaves the instructions of the one before it behind', here, async (client) => {
    stand.takePrompts();
    const first = await client.create({
      instructions: 'Answer in French.',
      input: [
        { role: 'system', content: 'Customer tier: gold.' },
        { role: 'user', content: 'hi' },
      ],
    });
    const parent = { previous_response_id: idOf(first) };
    const second = await client.create({ ...parent, input: 'tier?' });
    await client.create({ ...parent, instructions: 'Answer in German.', input: 'tier?' });
    await client.create({ previous_response_id: idOf(second), instructions: null, input: 'and now?' });
    const prompts = stand.takePrompts();
    const named = prompts.map((prompt) =>
      ['French', 'German', 'gold'].filter((word) => prompt.includes(word)),
    );
    expect(named).toEqual([['French', 'gold'], ['gold'], ['German', 'gold'], ['gold']]);
    expect(terminal(second).response).toMatchObject({ instructions: null });
    expect(terminal(first).response).toMatchObject({ instructions: 'Answer in French.' });
  });
});

/** Some are stored and some are not. */
function index(input: unknown): boolean {
  return typeof input === 'string' && input.length % 2 === 0;
}
