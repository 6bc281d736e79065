import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SocketClient, textOf, type WireEvent, type WireItem } from '../e2e/socket-client.js';
import { Stand } from './stand.js';
import { checkStream, terminal } from './stream-rules.js';
import { connect, normalised, overBoth, type Body } from './transports.js';

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { type: 'function', name: 'get_weather', parameters: CITY };
const TRAINS = { type: 'function', name: 'get_trains', parameters: CITY };
const NOTE = { type: 'custom', name: 'note' };
const FILES = {
  type: 'namespace',
  name: 'mcp__files',
  description: 'Files.',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }, NOTE],
};

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

const idOf = (events: readonly WireEvent[]) => terminal(events).response.id;
const isCall = ({ type }: WireItem) => type === 'function_call' || type === 'custom_tool_call';
const callsOf = (events: readonly WireEvent[]) => terminal(events).response.output.filter(isCall);
/** Everything a client was shown of calls. */
const callEvents = (events: readonly WireEvent[]) =>
  events.filter(
    ({ type, item }) => (item !== undefined && isCall(item)) || /call_(arguments|input)/.test(type),
  );

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
    ['what never shipped', { type: 'response.append', input: 'x' }],
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

describe('tools', () => {
  overBoth(
    '29. of one request cannot be called in the next, unless they are sent again',
    here,
    async (client) => {
      const first = await client.create({ input: 'x [sim calls=0]', tools: [WEATHER, NOTE] });
      stand.takePrompts();
      for (const ask of ['unasked=get_weather', 'custom=note', 'calls=1']) {
        const events = await client.create({ previous_response_id: idOf(first), input: `x [sim ${ask}]` });
        expect(callEvents(events)).toEqual([]);
        expect(terminal(events).response).toMatchObject({ status: 'completed', tools: [] });
      }
      for (const prompt of stand.takePrompts()) expect(prompt).not.toMatch(/^type (get_weather|note) /m);
      const again = await client.create({ previous_response_id: idOf(first), input: 'x', tools: [WEATHER] });
      expect(callsOf(again)).toMatchObject([{ type: 'function_call', name: 'get_weather' }]);
    },
  );

  overBoth('29. of an additional_tools item stay for the rest of the chain', here, async (client) => {
    const added = { type: 'additional_tools', role: 'developer', tools: [TRAINS, FILES] };
    const first = await client.create({ input: [added, { role: 'user', content: 'x [sim calls=0]' }] });
    const second = await client.create({ previous_response_id: idOf(first), input: 'y [sim calls=0]' });
    for (const parent of [first, second]) {
      const events = await client.create({
        previous_response_id: idOf(parent),
        input: 'z [sim tool=get_trains]',
      });
      expect(callsOf(events)).toMatchObject([{ name: 'get_trains' }]);
      const member = await client.create({
        previous_response_id: idOf(parent),
        input: 'z [sim tool=mcp__files.read]',
        tools: [WEATHER],
      });
      expect(callsOf(member)).toMatchObject([{ name: 'read', namespace: 'mcp__files' }]);
    }
    const warm = await client.create({ generate: false, input: [added] });
    const after = await client.create({ previous_response_id: idOf(warm), input: 'use get_trains' });
    expect(callsOf(after)).toMatchObject([{ name: 'get_trains' }]);
  });

  /** One of each kind, as clients declare them. */
  const DECLARED: Record<string, unknown>[] = [
    {
      ...WEATHER,
      strict: true,
      description: 'd',
      defer_loading: true,
      async: true,
      output_schema: {},
      allowed_callers: [],
    },
    { type: 'function', name: 'bare', description: null, parameters: null, strict: null },
    { ...NOTE, description: 'd', format: { type: 'text' } },
    {
      type: 'custom',
      name: 'apply_patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
    },
    { type: 'custom', name: 'digits', format: { type: 'grammar', syntax: 'regex', definition: '[0-9]+' } },
    FILES,
    { type: 'namespace', name: 'empty', tools: [] },
    { type: 'tool_search', execution: 'client', description: 'd', parameters: CITY },
    { type: 'tool_search', execution: 'server' },
    {
      type: 'web_search',
      external_web_access: false,
      search_content_types: ['text'],
      search_context_size: 'low',
    },
    { type: 'web_search_preview', user_location: { type: 'approximate', country: 'NO' } },
    { type: 'file_search', vector_store_ids: ['vs_1'], max_num_results: 3 },
    { type: 'mcp', server_label: 'deep', server_url: 'https://example.com/sse', require_approval: 'never' },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'image_generation', partial_images: 2 },
    { type: 'local_shell' },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
    { type: 'computer' },
    { type: 'computer_use_preview', display_width: 800, display_height: 600, environment: 'linux' },
    { type: 'programmatic_tool_calling' },
    { type: 'a_tool_of_next_year', anything: [{ at: 'all' }] },
  ];

  overBoth('30. of every kind are accepted, alone and together, and echoed', here, async (client) => {
    for (const tools of [...DECLARED.map((tool) => [tool]), DECLARED]) {
      const events = await client.create({ input: 'hello [sim calls=0]', tools, store: false });
      const { response } = terminal(events);
      expect([tools[0], response.status]).toEqual([tools[0], 'completed']);
      expect((response as unknown as { tools: WireItem[] }).tools.map(({ type }) => type)).toEqual(
        tools.map(({ type }) => type),
      );
    }
    const called = await client.create({ input: 'get_weather please', tools: DECLARED, store: false });
    expect(callsOf(called)).toMatchObject([{ name: 'get_weather' }]);
  });

  overBoth(
    '31. of a namespace are called by their bare name, with the namespace beside it',
    here,
    async (client) => {
      const tools = [FILES, { type: 'function', name: 'read', parameters: CITY }];
      const first = await client.create({ input: 'x [sim tool=mcp__files.read]', tools });
      const [call] = callsOf(first);
      expect(call).toMatchObject({ type: 'function_call', name: 'read', namespace: 'mcp__files' });
      // The same name outside of a namespace is another tool.
      const [plain] = callsOf(await client.create({ input: 'x [sim tool=read]', tools }));
      expect(plain).toMatchObject({ type: 'function_call', name: 'read' });
      expect(plain).not.toHaveProperty('namespace');
      const output = { type: 'function_call_output', call_id: call?.call_id, output: 'Buy milk.' };
      const next = await client.create({ previous_response_id: idOf(first), tools, input: [output] });
      expect(textOf(next)).toContain('Buy milk.');
      const replay = await client.create({ tools, input: [{ role: 'user', content: 'x' }, call, output] });
      expect(textOf(replay)).toContain('Buy milk.');
    },
  );

  overBoth('32. of kind custom are called with text', here, async (client) => {
    const first = await client.create({ input: 'say "hi"\\ and\ttab [sim custom=note]', tools: [NOTE] });
    const [call] = callsOf(first);
    expect(call).toMatchObject({ type: 'custom_tool_call', name: 'note', status: 'completed' });
    expect(call?.['input']).toContain('say "hi"\\ and\ttab');
    expect(call).not.toHaveProperty('arguments');
    const types = callEvents(normalised(first)).map(({ type }) => type);
    expect(types).toEqual([
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
    ]);
    const output = { type: 'custom_tool_call_output', call_id: call?.call_id, output: 'noted' };
    const next = await client.create({ previous_response_id: idOf(first), input: [output], tools: [NOTE] });
    expect(textOf(next)).toContain('noted');
  });

  const ALL = [WEATHER, TRAINS, NOTE, FILES];
  const ASK = 'What is your name? [sim calls=0]';

  overBoth('33. are called as tool_choice says, in each of its forms', here, async (client) => {
    const allowed = (mode: string, ...tools: unknown[]) => ({ type: 'allowed_tools', mode, tools });
    const trains = { type: 'function', name: 'get_trains' };
    const expected: [unknown, string, string[]][] = [
      ['none', 'use get_weather', []],
      ['auto', 'use get_weather', ['get_weather']],
      [null, 'use get_weather', ['get_weather']],
      ['auto', ASK, []],
      ['required', ASK, ['get_weather']],
      [trains, ASK, ['get_trains']],
      [{ type: 'custom', name: 'note' }, ASK, ['note']],
      [allowed('auto', trains), 'use get_trains', ['get_trains']],
      [allowed('auto', trains), 'use get_weather', []],
      [allowed('auto', trains), ASK, []],
      [allowed('required', trains), ASK, ['get_trains']],
      [allowed('required', { type: 'custom', name: 'note' }), ASK, ['note']],
      [allowed('auto'), 'use get_weather', []],
      [
        allowed('auto', { type: 'namespace', name: 'mcp__files' }),
        'use it [sim tool=mcp__files.read]',
        ['read'],
      ],
    ];
    for (const [tool_choice, input, names] of expected) {
      const events = await client.create({ input, tools: ALL, tool_choice, store: false });
      const { response } = terminal(events);
      expect([tool_choice, callsOf(events).map(({ name }) => name)]).toEqual([tool_choice, names]);
      expect(callEvents(events).length > 0).toBe(names.length > 0);
      expect(response).toMatchObject({ status: 'completed', tool_choice: tool_choice ?? 'auto' });
      // A call that was forced takes the place of an answer, never stands beside one.
      if (names.length > 0) expect(textOf(events)).toBe('');
    }
  });

  overBoth('33. that a tool_choice names and nobody declared are a 400 on it', here, async (client) => {
    const choices: [unknown, unknown[]][] = [
      [{ type: 'function', name: 'nope' }, ALL],
      [{ type: 'custom', name: 'get_weather' }, ALL],
      [{ type: 'function', name: 'note' }, [NOTE]],
      ['required', []],
      [{ type: 'web_search' }, [{ type: 'web_search' }]],
      [{ type: 'mcp', server_label: 'a' }, [{ type: 'mcp', server_label: 'a' }]],
      [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'nope' }] }, ALL],
      ['sometimes', ALL],
      [5, ALL],
      [{ type: 'function' }, ALL],
      [{ name: 'get_weather' }, ALL],
      [{ type: 'allowed_tools', mode: 'maybe', tools: [] }, ALL],
      [{ type: 'allowed_tools', mode: 'auto' }, ALL],
    ];
    for (const [tool_choice, tools] of choices) {
      const events = await client.create({ input: ASK, tools, tool_choice });
      expect([tool_choice, events.length, events[0]?.status]).toEqual([tool_choice, 1, 400]);
      expect(events[0]?.error?.param).toMatch(/^tool_choice/);
    }
  });

  overBoth(
    '34. are called once with parallel_tool_calls: false, whatever the model would do',
    here,
    async (client) => {
      for (const [marker, count] of [
        ['parallel=3', 3],
        ['parallel=2 commentary=1', 2],
        ['parallel=2 call-form=channel', 2],
      ] as const) {
        const one = await client.create({
          input: `x [sim ${marker}]`,
          tools: ALL,
          parallel_tool_calls: false,
        });
        expect([marker, callsOf(one).length]).toEqual([marker, 1]);
        expect(callEvents(one).filter(({ type }) => type === 'response.output_item.added')).toHaveLength(1);
        expect(terminal(one).response).toMatchObject({ status: 'completed', parallel_tool_calls: false });
        for (const parallel_tool_calls of [true, null, undefined]) {
          const all = await client.create({ input: `x [sim ${marker}]`, tools: ALL, parallel_tool_calls });
          expect([marker, callsOf(all).length]).toEqual([marker, count]);
        }
      }
    },
  );
});

/** Some are stored and some are not. */
function index(input: unknown): boolean {
  return typeof input === 'string' && input.length % 2 === 0;
}
