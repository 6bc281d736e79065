import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { textOf, type WireEvent, type WireItem } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { normalised, overBoth } from './transports.js';

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

const isCall = ({ type }: WireItem) => type === 'function_call' || type === 'custom_tool_call';
const callsOf = (events: readonly WireEvent[]) => terminal(events).response.output.filter(isCall);
/** Everything a client was shown of calls. */
const callEvents = (events: readonly WireEvent[]) =>
  events.filter(
    ({ type, item }) => (item !== undefined && isCall(item)) || /call_(arguments|input)/.test(type),
  );

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
    // What can be searched for is not shown; what is declared beside it can be called.
    const called = await client.create({ input: 'bare please', tools: DECLARED, store: false });
    expect(callsOf(called)).toMatchObject([{ name: 'bare' }]);
    const shown = DECLARED.filter(({ type }) => type !== 'tool_search');
    const deferred = await client.create({ input: 'get_weather please', tools: shown, store: false });
    expect(callsOf(deferred)).toMatchObject([{ name: 'get_weather' }]);
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
