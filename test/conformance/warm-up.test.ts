import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { connect, overBoth, postJson, type Body } from './transports.js';

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

/** What makes a request a warm-up, by the line that asks for it. */
const WAYS: [number, Body][] = [
  [35, { generate: false }],
  [40, { prompt_cache_options: { prewarm: true } }],
  [40, { prompt_cache_options: { prewarm: true, mode: 'implicit', ttl: '30m' }, generate: true }],
  [40, { prompt_cache_options: { prewarm: true }, generate: null }],
];

/** Requests as clients warm up with them. */
const REQUESTS: [string, Body][] = [
  ['text', { input: 'remember marmalade' }],
  ['no input at all', {}],
  ['an empty input', { input: [] }],
  ['a null input', { input: null }],
  [
    'everything',
    { input: 'x', instructions: 'Be brief.', tools: [WEATHER], reasoning: { effort: 'high' }, store: false },
  ],
  ['a forced call', { input: 'x', tools: [WEATHER], tool_choice: 'required' }],
  ['an answer format', { input: 'x', text: { format: { type: 'json_object' } } }],
  ['the least output', { input: 'x', max_output_tokens: 1 }],
  ['a call that waits', { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }] }],
];

for (const [line, way] of WAYS) {
  overBoth(`${line}. ${JSON.stringify(way)} begins and completes without output`, here, async (client) => {
    for (const [name, request] of REQUESTS) {
      const events = await client.create({ ...request, ...way });
      expect([name, events.map(({ type }) => type)]).toEqual([
        name,
        ['response.created', 'response.in_progress', 'response.completed'],
      ]);
      expect(terminal(events).response).toMatchObject({
        status: 'completed',
        output: [],
        error: null,
        incomplete_details: null,
        usage: { output_tokens: 0, output_tokens_details: { reasoning_tokens: 0 } },
      });
    }
  });
}

overBoth('35. generate: true and null, and prewarm: false, are no warm-up', here, async (client) => {
  for (const way of [
    { generate: true },
    { generate: null },
    { prompt_cache_options: { prewarm: false } },
    { prompt_cache_options: null },
  ]) {
    expect(textOf(await client.create({ input: 'x', ...way }))).toContain('You said');
  }
});

overBoth('35. generate of another type is a 400', here, async (client) => {
  for (const generate of ['false', 0, {}]) {
    expect(await client.create({ input: 'x', generate })).toMatchObject([
      { status: 400, error: { param: 'generate' } },
    ]);
  }
});

it('40. prewarm answers without a stream as well', async () => {
  const { status, text } = await postJson(stand.url, { input: 'x', prompt_cache_options: { prewarm: true } });
  expect([status, JSON.parse(text)]).toMatchObject([200, { status: 'completed', output: [] }]);
});

overBoth('36. it may be empty: the turn that follows brings everything', here, async (client) => {
  const warm = await client.create({ input: [], generate: false });
  const events = await client.create({
    previous_response_id: idOf(warm),
    input: [
      { type: 'additional_tools', role: 'developer', tools: [WEATHER] },
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'weather?' },
    ],
  });
  expect(terminal(events).response.output.at(-1)).toMatchObject({
    type: 'function_call',
    name: 'get_weather',
  });
});

overBoth('37. the next turn sees its items, once, in their place', here, async (client) => {
  const first = [
    { role: 'developer', content: 'Rule: marmalade.' },
    { role: 'user', content: 'earlier' },
    { role: 'assistant', content: 'yes?' },
  ];
  const rest = [{ role: 'user', content: 'later' }];
  stand.takePromptIds();
  await client.create({ input: [...first, ...rest] });
  const warm = await client.create({ input: first, generate: false });
  const next = await client.create({ previous_response_id: idOf(warm), input: rest });
  expect(textOf(next)).toContain('message 2');
  const prompts = stand.takePromptIds();
  expect(prompts).toHaveLength(2);
  expect(prompts[1]).toEqual(prompts[0]);
});

overBoth('37. a warm-up can follow a turn, or another warm-up', here, async (client) => {
  const turn = await client.create({ input: 'one' });
  const warm = await client.create({ previous_response_id: idOf(turn), input: 'two', generate: false });
  const warmer = await client.create({ previous_response_id: idOf(warm), input: 'three', generate: false });
  const last = await client.create({ previous_response_id: idOf(warmer), input: 'four' });
  expect(textOf(last)).toContain('message 4');
});

describe.each([true, false])('of a chain with store: %s', (store) => {
  it('38. its id stays valid after the turns that follow it', async () => {
    const client = await connect('websocket', stand);
    const warm = await client.create({ input: 'root', generate: false, store });
    let parent = idOf(warm);
    for (let turn = 0; turn < 5; turn++) {
      parent = idOf(await client.create({ previous_response_id: parent, input: `turn ${turn}`, store }));
    }
    for (const side of ['one', 'other']) {
      const events = await client.create({ previous_response_id: idOf(warm), input: side, store });
      expect(textOf(events)).toContain(`You said: "${side}". (message 2`);
    }
    client.close();
  });
});

overBoth('39. the engine is asked for nothing', here, async (client) => {
  stand.takePrompts();
  const before = await stand.generated();
  for (const [, request] of REQUESTS) await client.create({ ...request, generate: false });
  expect(stand.takePrompts()).toEqual([]);
  expect(await stand.generated()).toBe(before);
});
