import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { textOf, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from '../conformance/stream-rules.js';
import { overBoth, postJson, type Body } from '../conformance/transports.js';

/** Reported failures of servers with what clients send, each by its number. */
let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { type: 'function', name: 'get_weather', parameters: CITY };
const user = (content: unknown) => ({ role: 'user', content });
const callsOf = (events: readonly WireEvent[]) =>
  terminal(events).response.output.filter(({ call_id }) => call_id !== undefined);
const completed = (events: readonly WireEvent[]) =>
  expect(terminal(events).response.status).toBe('completed');

describe('items', () => {
  overBoth('A01: assistant history with plain string content is one message', here, async (client) => {
    stand.takePrompts();
    const events = await client.create({
      input: [
        user('What is 5 * 3?'),
        { type: 'message', role: 'assistant', content: '15. QED.' },
        user('Double it and end with QED.'),
      ],
    });
    completed(events);
    expect(stand.takePrompts()[0]).toContain(
      '<|start|>assistant<|channel|>final<|message|>15. QED.<|end|><|start|>user',
    );
  });

  overBoth(
    'A02: function_call_output.output may be content parts, joined with nothing between them',
    here,
    async (client) => {
      const call = { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"p":"a.txt"}' };
      const answerTo = (output: unknown) =>
        client.create({
          input: [user('Read a.txt'), call, { type: 'function_call_output', call_id: 'call_1', output }],
          tools: [],
          store: false,
        });
      const part = (text: string) => ({ type: 'input_text', text });
      stand.takePromptIds();
      for (const output of [
        'line 1\nline 2',
        [part('line 1\n'), part('line 2')],
        [part(''), part('line 1\nline 2')],
      ]) {
        completed(await answerTo(output));
      }
      for (const output of ['', [], [part('')]]) completed(await answerTo(output));
      const prompts = stand.takePromptIds();
      for (const prompt of prompts.slice(0, 3)) expect(prompt).toEqual(prompts[0]);
      for (const prompt of prompts.slice(3)) expect(prompt).toEqual(prompts[3]);
      const image = await answerTo([
        part('see'),
        { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
      ]);
      expect(image).toMatchObject([{ status: 400, error: { param: 'input[2].output[1]' } }]);
    },
  );

  overBoth('A03: reasoning without content is an item that adds no tokens', here, async (client) => {
    stand.takePromptIds();
    const bare = { type: 'reasoning', id: 'rs_1', summary: [] };
    for (const reasoning of [
      bare,
      { ...bare, content: null, encrypted_content: null, status: null },
      { ...bare, summary: [{ type: 'summary_text', text: 'looked at the file' }] },
      { ...bare, content: [] },
      { type: 'reasoning' },
      undefined,
    ]) {
      completed(
        await client.create({ input: [...(reasoning ? [reasoning] : []), user('go on')], store: false }),
      );
    }
    const prompts = stand.takePromptIds();
    for (const prompt of prompts) expect(prompt).toEqual(prompts.at(-1));
    const { response } = terminal(await client.create({ input: [bare, user('go on')] }));
    const items = await fetch(`${stand.url}/v1/responses/${response.id}/input_items?order=asc`);
    expect(await items.json()).toMatchObject({
      data: [{ type: 'reasoning', id: 'rs_1' }, { type: 'message' }],
    });
    for (const reference of [{ type: 'item_reference' }, { type: null }, {}]) {
      completed(await client.create({ input: [{ ...reference, id: 'rs_1' }, user('go on')] }));
    }
  });

  overBoth('A04: an item with a role is a message, whatever the role', here, async (client) => {
    const events = await client.create({
      input: [
        user([{ type: 'input_text', text: 'hi' }]),
        { role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] },
        user([{ type: 'input_text', text: 'version?' }]),
      ],
    });
    expect(textOf(events)).toContain('You said: "version?". (message 2');
  });

  overBoth(
    'A28: calls and outputs have to match, over the whole chain, before any engine is asked',
    here,
    async (client) => {
      const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
      const output = { type: 'function_call_output', call_id: 'c1', output: '1' };
      const parent = idOf(await client.create({ input: [call], generate: false }));
      const answered = idOf(await client.create({ input: [call, output, user('x')] }));
      stand.takePromptIds();
      const cases: [Body, string, string][] = [
        [
          { input: [user('x'), { type: 'function_call_output', output: '1' }] },
          'input[1].call_id',
          'input[1].call_id',
        ],
        [
          { input: [{ ...output, call_id: 'c9' }] },
          'input',
          'No tool call found for function call output with call_id c9.',
        ],
        [{ input: [call, user('never mind')] }, 'input', 'No tool output found for function call c1.'],
        [
          { previous_response_id: parent, input: 'never mind' },
          'input',
          'No tool output found for function call c1.',
        ],
        [
          { previous_response_id: answered, input: [output] },
          'input',
          'No tool call found for function call output with call_id c1.',
        ],
      ];
      for (const [body, param, message] of cases) {
        const events = await client.create(body);
        expect(events).toMatchObject([
          { status: 400, error: { param, message: expect.stringContaining(message) } },
        ]);
      }
      expect(stand.takePromptIds()).toEqual([]);
      completed(
        await client.create({
          input: [call, output, call, output, user('an id may come again once it is answered')],
        }),
      );
      // Agents answer a call whose arguments were cut short, if only to say so: it is one that was made.
      const cut = { ...call, arguments: '{"cmd":"rm -rf /tm', status: 'incomplete' };
      stand.takePrompts();
      completed(await client.create({ input: [user('x'), cut, output, user('y')] }));
      completed(await client.create({ input: [user('x'), cut, user('y')] }));
      const [made, dropped] = stand.takePrompts();
      expect(made).toContain('{"cmd":"rm -rf /tm<|call|>');
      expect(dropped).not.toContain('rm -rf');
    },
  );
});

describe('tools and settings', () => {
  overBoth(
    'A06: tools of the client work beside hosted ones, which are not shown to the model',
    here,
    async (client) => {
      const none = { type: 'object', properties: {} };
      const tools = [
        { type: 'function', name: 'shell', parameters: none },
        {
          type: 'custom',
          name: 'apply_patch',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
        },
        { type: 'namespace', name: 'mcp__x', tools: [{ type: 'function', name: 'y', parameters: none }] },
        { type: 'web_search' },
        { type: 'image_generation' },
      ];
      stand.takePrompts();
      for (const [marker, expected] of [
        ['tool=shell', { type: 'function_call', name: 'shell' }],
        ['custom=apply_patch', { type: 'custom_tool_call', name: 'apply_patch' }],
        ['tool=mcp__x.y', { type: 'function_call', name: 'y', namespace: 'mcp__x' }],
      ] as const) {
        expect(callsOf(await client.create({ input: `list files [sim ${marker}]`, tools }))).toMatchObject([
          expected,
        ]);
      }
      for (const prompt of stand.takePrompts()) expect(prompt).not.toMatch(/web_search|image_generation/);
      for (const type of ['web_search', 'image_generation']) {
        const events = await client.create({ input: 'x', tools, tool_choice: { type } });
        expect(events).toMatchObject([{ status: 400, error: { param: 'tool_choice' } }]);
      }
    },
  );

  overBoth('A24: a forced tool_choice is not taken for auto', here, async (client) => {
    const ask = 'What is your name? [sim calls=0]';
    for (const [tool_choice, names] of [
      ['required', ['get_weather']],
      [{ type: 'function', name: 'get_weather' }, ['get_weather']],
      [{ type: 'allowed_tools', mode: 'auto', tools: [] }, []],
    ] as const) {
      const events = await client.create({ input: ask, tools: [WEATHER], tool_choice });
      completed(events);
      expect(callsOf(events).map(({ name }) => name)).toEqual(names);
    }
    const unknown = await client.create({
      input: 'x',
      tools: [WEATHER],
      tool_choice: { type: 'function', name: 'nope' },
    });
    expect(unknown).toMatchObject([{ status: 400, error: { param: 'tool_choice' } }]);
    // The list is a filter, and the prompt stays what the engine has cached.
    stand.takePromptIds();
    for (const tools of [[], [{ type: 'function', name: 'get_weather' }]]) {
      const tool_choice = { type: 'allowed_tools', mode: 'auto', tools };
      const events = await client.create({
        input: 'get_weather',
        tools: [WEATHER],
        tool_choice,
        store: false,
      });
      expect(callsOf(events)).toHaveLength(tools.length);
    }
    const [first, ...more] = stand.takePromptIds();
    expect(more.at(-1)).toEqual(first);
  });

  overBoth('A26: empty and null settings are defaults', here, async (client) => {
    const nullable = [
      'instructions',
      'previous_response_id',
      'max_output_tokens',
      'max_tool_calls',
      'user',
      'safety_identifier',
      'prompt_cache_key',
      'service_tier',
      'store',
      'temperature',
      'top_p',
      'top_logprobs',
      'truncation',
      'include',
      'parallel_tool_calls',
      'metadata',
      'reasoning',
      'text',
      'tools',
      'tool_choice',
      'stream_options',
      'background',
      'conversation',
      'prompt',
      'context_management',
      'prompt_cache_options',
    ];
    for (const settings of [
      { text: {} },
      { text: { format: null, verbosity: null } },
      { reasoning: {} },
      { reasoning: { effort: null, summary: null, context: null } },
      { metadata: {} },
      { tools: [], tool_choice: 'auto' },
      Object.fromEntries(nullable.map((name) => [name, null])),
    ]) {
      const events = await client.create({
        input: [{ type: 'message', ...user('Give a title.') }],
        ...settings,
      });
      completed(events);
      expect(terminal(events).response).toMatchObject({
        text: { format: { type: 'text' } },
        metadata: {},
        tools: [],
        tool_choice: 'auto',
      });
    }
  });
});

describe('chains', () => {
  overBoth('A17: previous_response_id keeps calls and outputs', here, async (client) => {
    const settings = { tools: [WEATHER], reasoning: { effort: 'low' } };
    const first = await client.create({ input: 'weather in Oslo?', ...settings });
    const [call] = callsOf(first);
    const output = { type: 'function_call_output', call_id: call?.call_id, output: '4C' };
    const second = await client.create({ previous_response_id: idOf(first), input: [output], ...settings });
    stand.takePromptIds();
    const last = user('and tomorrow? [sim calls=0]');
    await client.create({ previous_response_id: idOf(second), input: [last], ...settings });
    const [answer] = terminal(second).response.output;
    await client.create({ input: [user('weather in Oslo?'), call, output, answer, last], ...settings });
    const [continued, whole] = stand.takePromptIds();
    expect(continued).toEqual(whole);
    const unknown = await client.create({ previous_response_id: 'resp_nobody', input: 'x' });
    expect(unknown).toMatchObject([{ status: 400, error: { code: 'previous_response_not_found' } }]);
  });

  overBoth(
    'A18: old instructions do not leak, and system items are no instructions',
    here,
    async (client) => {
      const first = await client.create({
        instructions: 'Answer in French',
        input: [{ role: 'system', content: 'Customer tier: gold' }, user('hi')],
      });
      stand.takePrompts();
      await client.create({ previous_response_id: idOf(first), input: 'tier?' });
      await client.create({
        previous_response_id: idOf(first),
        instructions: 'Answer in German',
        input: 'tier?',
      });
      const [without, other] = stand.takePrompts();
      for (const prompt of [without, other]) {
        expect(prompt).not.toContain('French');
        expect(prompt).toContain('Customer tier: gold');
      }
      expect(without).not.toContain('German');
      expect(other).toContain('Answer in German');
    },
  );

  overBoth(
    'A20: a response can be continued the instant it is read, by another replica too',
    here,
    async (client) => {
      // Both use the SQLite file of this folder: the gateways of a stand share it.
      const replica = await stand.replica();
      for (let round = 0; round < 25; round++) {
        const id = idOf(await client.create({ input: 'x', generate: round % 5 === 0 }));
        const next = await Promise.all([
          client.create({ previous_response_id: id, input: 'y', generate: false }),
          postJson(stand.url, { previous_response_id: id, input: 'y', generate: false }),
          postJson(replica.url, { previous_response_id: id, input: 'y', generate: false }),
        ]);
        completed(next[0]);
        expect([next[1].status, next[2].status]).toEqual([200, 200]);
      }
    },
  );
});
