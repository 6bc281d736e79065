import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectBoth, TRANSPORTS, type Body, type Transport } from '../conformance/transports.js';
import { harmony } from '@turnpike/formats';
import { terminalOf, textOf, type WireEvent, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

/** What `tool_choice` and its neighbours promise, whatever the model would rather do. */
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { type: 'function', name: 'get_weather', parameters: city };
const TRAINS = { type: 'function', name: 'get_trains', parameters: city };
const NOTE = {
  type: 'custom',
  name: 'note',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};
const FILES = {
  type: 'namespace',
  name: 'mcp__files',
  tools: [{ type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }],
};
const TOOLS = [WEATHER, TRAINS, NOTE, FILES];
/** A question that the model would answer without a tool. */
const ASK = 'What is your name? [sim calls=0]';

let stand: Stand;
let clients: Awaited<ReturnType<typeof connectBoth>>;

beforeAll(async () => {
  stand = await Stand.start();
  clients = await connectBoth(stand);
});
afterAll(async () => {
  clients.websocket.close();
  await stand.stop();
});

/** The events of one response, or the one error. */
function create(transport: Transport, body: Body): Promise<WireEvent[]> {
  return clients[transport].create({ tools: TOOLS, ...body });
}

function isCall({ type }: WireItem): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

function callsOf(events: readonly WireEvent[]): WireItem[] {
  return terminalOf(events).response.output.filter(isCall);
}

/** Everything that a client was shown of calls, whether or not they stayed. */
function callEvents(events: readonly WireEvent[]): WireEvent[] {
  return events.filter(
    ({ type, item }) => (item !== undefined && isCall(item)) || /call_(arguments|input)/.test(type),
  );
}

describe.each(TRANSPORTS)('tool_choice over %s', (transport) => {
  it.each<[string, unknown, Record<string, unknown>]>([
    ['required', 'required', { type: 'function_call', name: 'get_weather' }],
    ['a function', { type: 'function', name: 'get_trains' }, { type: 'function_call', name: 'get_trains' }],
    ['a custom tool', { type: 'custom', name: 'note' }, { type: 'custom_tool_call', name: 'note' }],
    [
      'a tool in a namespace',
      { type: 'function', name: 'read' },
      { type: 'function_call', name: 'read', namespace: 'mcp__files' },
    ],
    [
      'one of the allowed tools',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'get_trains' }] },
      { type: 'function_call', name: 'get_trains' },
    ],
  ])('makes the model call: %s', async (_name, choice, expected) => {
    for (const effort of ['minimal', 'low', 'medium']) {
      const body = { input: ASK, tool_choice: choice, reasoning: { effort } };
      const events = await create(transport, body);
      const { response } = terminalOf(events);
      expect(response.status).toBe('completed');
      expect(callsOf(events)).toEqual([expect.objectContaining({ ...expected, status: 'completed' })]);
      expect(textOf(events)).toBe('');
      // A model that reasons does so before it calls, as it would of itself.
      expect(response.output.map(({ type }) => type)).toEqual(
        effort === 'medium' ? ['reasoning', expected['type']] : [expected['type']],
      );
    }
  });

  it('makes valid arguments of a forced call, and goes on from it token for token', async () => {
    stand.prompts.length = 0;
    const choice = { type: 'function', name: 'get_trains' };
    const first = await create(transport, { input: ASK, tool_choice: choice });
    const [call] = callsOf(first);
    expect(JSON.parse(call?.arguments ?? '')).toEqual({ city: 'What is your name?' });
    const second = await create(transport, {
      previous_response_id: terminalOf(first).response.id,
      input: [{ type: 'function_call_output', call_id: call?.call_id, output: 'at noon' }],
    });
    expect(textOf(second)).toContain('at noon');
    const [plain = [], opened = [], next = []] = stand.prompts;
    const { tokenizer } = harmony();
    expect(tokenizer.decode(opened)).toMatch(
      /to=functions\.get_trains<\|channel\|>commentary <\|constrain\|>json<\|message\|>$/,
    );
    const start = plain.length - 2;
    expect(opened.slice(0, start)).toEqual(plain.slice(0, start));
    expect(next.slice(0, opened.length)).toEqual(opened);
    const { usage } = terminalOf(first).response;
    expect(usage?.input_tokens).toBe(plain.length);
    expect(usage?.total_tokens).toBe(plain.length + (usage?.output_tokens ?? 0));
    // The engine finds the forced call in its cache, as it finds any other.
    expect(terminalOf(second).response.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(
      opened.length,
    );
  });

  it('stops an engine that would go on with something else', async () => {
    const events = await create(transport, { input: 'x [sim limit=1]', tool_choice: 'required' });
    expect(callsOf(events)).toHaveLength(1);
    const state = async () =>
      (await (await fetch(`${stand.engineUrl}/debug/state`)).json()) as {
        running: number;
        tokens_generated: number;
      };
    while ((await state()).running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await state()).tokens_generated).toBeLessThan(500_000);
  });

  it('fails a response whose forced call does not come out', async () => {
    const events = await create(transport, {
      input: 'Do it [sim unasked=nope]',
      tool_choice: 'required',
    });
    expect(events.at(-1)?.type).toBe('response.failed');
    expect(terminalOf(events).response.error).toEqual({
      code: 'server_error',
      message: "The model did not make a tool call that 'tool_choice' allows.",
    });
    expect(callEvents(events)).toEqual([]);
  });

  it('delivers no call that was not asked for with none: the model answers instead', async () => {
    const added = { type: 'additional_tools', tools: [WEATHER] };
    for (const input of [
      [added, { role: 'user', content: 'get_weather please' }],
      [{ role: 'user', content: 'x [sim unasked=get_weather]' }],
    ]) {
      const events = await create(transport, { input, tool_choice: 'none' });
      expect(terminalOf(events).response.status).toBe('completed');
      expect(callEvents(events)).toEqual([]);
      expect(textOf(events)).toContain('You said:');
    }
  });

  it('delivers no call without tools', async () => {
    const events = await create(transport, { tools: [], input: 'x [sim unasked=get_weather]' });
    expect(callEvents(events)).toEqual([]);
    expect(textOf(events)).toContain('You said: "x"');
  });

  it('delivers the allowed tools only, while all of them stay in the prompt', async () => {
    const ask = (name: string, tools: unknown[]) =>
      create(transport, {
        input: `use ${name}`,
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools },
      });
    stand.prompts.length = 0;
    const allowed = await ask('get_trains', [{ type: 'function', name: 'get_trains' }]);
    expect(callsOf(allowed)).toEqual([expect.objectContaining({ name: 'get_trains' })]);
    for (const tools of [[{ type: 'function', name: 'get_weather' }], []]) {
      const refused = await ask('get_trains', tools);
      expect(callEvents(refused)).toEqual([]);
      expect(terminalOf(refused).response.status).toBe('completed');
      expect(textOf(refused)).toContain('use get_trains');
    }
    const [first = [], second = []] = stand.prompts;
    expect(second).toEqual(first);
  });

  it('refuses a tool that is not declared', async () => {
    for (const choice of [
      { type: 'function', name: 'nope' },
      { type: 'web_search' },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'nope' }] },
    ]) {
      const [error] = await create(transport, { input: ASK, tool_choice: choice });
      expect(error?.error).toMatchObject({ code: 'invalid_value', param: 'tool_choice' });
    }
  });
});

describe.each(TRANSPORTS)('calls over %s', (transport) => {
  it.each([
    [{ parallel_tool_calls: false }, 1],
    [{ max_tool_calls: 2 }, 2],
    [{}, 3],
  ])('come in the number that is wanted: %j', async (limit, expected) => {
    stand.prompts.length = 0;
    const first = await create(transport, { input: 'go [sim parallel=3]', ...limit });
    const calls = callsOf(first);
    expect(calls).toHaveLength(expected);
    expect(calls.every(({ status }) => status === 'completed')).toBe(true);
    expect(callEvents(first).filter(({ type }) => type === 'response.output_item.added')).toHaveLength(
      expected,
    );
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(expected);
    const second = await create(transport, {
      previous_response_id: terminalOf(first).response.id,
      input: calls.map(({ call_id }, index) => ({
        type: 'function_call_output',
        call_id,
        output: `output ${index}`,
      })),
    });
    expect(terminalOf(second).response.status).toBe('completed');
    // What was not delivered is not in the chain either.
    const next = harmony().tokenizer.decode(stand.prompts.at(-1) ?? []);
    expect(next.match(/assistant to=functions\.get_weather/g)).toHaveLength(expected);
  });

  it('have ids that are theirs alone in the whole chain', async () => {
    const seen: unknown[] = [];
    let events = await create(transport, { input: 'go [sim calls=4 parallel=2]' });
    for (let turn = 0; turn < 2; turn++) {
      const calls = callsOf(events);
      expect(calls.map(({ name }) => name)).toEqual(['get_weather', 'get_weather']);
      seen.push(...calls.flatMap(({ id, call_id }) => [id, call_id]));
      events = await create(transport, {
        previous_response_id: terminalOf(events).response.id,
        input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' })),
      });
    }
    expect(new Set(seen).size).toBe(8);
  });

  it('of custom tools are text, not JSON', async () => {
    const first = await create(transport, { input: 'a "quoted" wish [sim custom=note]' });
    const [call] = callsOf(first);
    const deltas = first.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
    const done = first.find(({ type }) => type === 'response.custom_tool_call_input.done');
    expect(call).toMatchObject({ type: 'custom_tool_call', name: 'note' });
    expect(call?.['input']).toContain('a "quoted" wish');
    expect(deltas.map(({ delta }) => delta).join('')).toBe(call?.['input']);
    expect(done?.['input']).toBe(call?.['input']);
    const second = await create(transport, {
      previous_response_id: terminalOf(first).response.id,
      input: [{ type: 'custom_tool_call_output', call_id: call?.call_id, output: 'noted' }],
    });
    expect(textOf(second)).toContain('noted');
  });

  it('of a namespace carry it beside their bare name, and their outputs go on', async () => {
    stand.prompts.length = 0;
    const first = await create(transport, { input: 'x [sim tool=mcp__files.read]' });
    const [call] = callsOf(first);
    expect(call).toMatchObject({ type: 'function_call', name: 'read', namespace: 'mcp__files' });
    const output = { type: 'function_call_output', call_id: call?.call_id, output: 'Buy milk.' };
    const second = await create(transport, {
      previous_response_id: terminalOf(first).response.id,
      input: [output],
    });
    expect(textOf(second)).toContain('Buy milk.');
    expect(harmony().tokenizer.decode(stand.prompts.at(-1) ?? [])).toContain('mcp__files.read to=assistant');
    // A client that keeps its own history sends the call back as it got it.
    const { status: _status, ...sent } = call ?? { type: '' };
    const replay = await create(transport, {
      input: [{ role: 'user', content: 'x' }, sent, output],
    });
    expect(textOf(replay)).toContain('Buy milk.');
  });

  it('are made beside hosted tools, which are accepted and not shown to the model', async () => {
    stand.prompts.length = 0;
    const hosted = [
      'web_search',
      'web_search_preview',
      'file_search',
      'mcp',
      'code_interpreter',
      'image_generation',
      'local_shell',
      'shell',
      'apply_patch',
      'computer',
      'computer_use_preview',
      'programmatic_tool_calling',
    ].map((type) => ({ type }));
    const search = { type: 'tool_search', execution: 'server' };
    const events = await create(transport, { input: 'list files', tools: [...hosted, search, WEATHER] });
    expect(callsOf(events)).toEqual([expect.objectContaining({ name: 'get_weather' })]);
    const prompt = harmony().tokenizer.decode(stand.prompts[0] ?? []);
    expect(prompt.match(/^type \S+ = /gm)).toEqual(['type get_weather = ']);
    const alone = await create(transport, { input: 'list files', tools: hosted });
    expect(textOf(alone)).toContain('list files');
  });
});
