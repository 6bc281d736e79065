import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from '../e2e/socket-client.js';
import { expectGone, expectThere } from './continuations.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { connect, overBoth, type Body } from './transports.js';

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
const NOTE = { type: 'custom', name: 'note' };
const TOOLS = [WEATHER, NOTE];

let stand: Stand;
const here = () => stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());

const socket = () => connect('websocket', stand);

/** Outputs without a call, with what is said of each. */
const ORPHANS: [string, Body, string][] = [
  [
    'function_call_output',
    { type: 'function_call_output', call_id: 'call_none', output: 'x' },
    'function call output',
  ],
  [
    'custom_tool_call_output',
    { type: 'custom_tool_call_output', call_id: 'call_none', output: 'x' },
    'custom tool call output',
  ],
];

describe('a continuation that fails', () => {
  it.each(ORPHANS)('62. with an orphan %s is a 400, and evicts the parent', async (_type, orphan, spoken) => {
    const client = await socket();
    for (const [name, input] of [
      ['alone', [orphan]],
      ['last', [{ role: 'user', content: 'x' }, orphan]],
      ['first', [orphan, { role: 'user', content: 'x' }]],
      ['with parts', [{ ...orphan, output: [{ type: 'input_text', text: 'x' }] }]],
    ] as const) {
      const parent = idOf(await client.create({ input: 'x', store: false }));
      const events = await client.create({ previous_response_id: parent, input, store: false });
      expect([name, events.length, events[0]]).toMatchObject([
        name,
        1,
        {
          status: 400,
          error: {
            type: 'invalid_request_error',
            message: `No tool call found for ${spoken} with call_id call_none.`,
            param: 'input',
          },
        },
      ]);
      await expectGone(client, parent, { store: false });
    }
    client.close();
  });

  it('62. for another reason evicts it as well', async () => {
    const client = await socket();
    for (const [name, request] of Object.entries<Body>({
      'an unknown model': { input: 'x', model: 'nope' },
      'a tool that is not declared': {
        input: 'x',
        tool_choice: { type: 'function', name: 'nope' },
        tools: TOOLS,
      },
      'a schema that cannot be used': {
        input: 'x',
        text: { format: { type: 'json_schema', name: 'n', schema: { type: 'human' } } },
      },
      'an engine that dies': { input: 'x [sim die=3]' },
      'an engine that is overloaded': { input: 'x [sim status=503]' },
    })) {
      const parent = idOf(await client.create({ input: 'x', store: false }));
      const events = await client.create({ previous_response_id: parent, store: false, ...request });
      expect([name, events.at(-1)?.type]).toEqual([
        name,
        expect.stringMatching(/^(error|response\.failed)$/),
      ]);
      await expectGone(client, parent, { store: false });
    }
    client.close();
  });

  it('62. takes nothing else with it', async () => {
    const client = await socket();
    const root = idOf(await client.create({ input: 'root', store: false }));
    const child = idOf(await expectThere(client, root, { store: false }));
    const sibling = idOf(await expectThere(client, root, { store: false }));
    await client.create({ previous_response_id: child, input: [ORPHANS[0]?.[1]], store: false });
    await expectGone(client, child);
    await expectThere(client, sibling, { store: false });
    await expectThere(client, root, { store: false });
    client.close();
  });

  it('62. a response that could not be completed is no parent', async () => {
    const client = await socket();
    for (const store of [true, false]) {
      const failed = await client.create({ input: 'x [sim die=4]', store });
      await expectGone(client, idOf(failed));
    }
    client.close();
  });

  it.each(ORPHANS)('63. the kind of the call has to match: %s of another call is an orphan', async (type) => {
    const client = await socket();
    const isFunction = type === 'function_call_output';
    const first = await client.create({
      input: isFunction ? 'x [sim custom=note]' : 'x',
      tools: TOOLS,
      store: false,
    });
    const call_id = terminal(first).response.output.at(-1)?.call_id;
    const events = await client.create({
      previous_response_id: idOf(first),
      input: [{ type, call_id, output: 'x' }],
      store: false,
    });
    expect(events).toMatchObject([
      { status: 400, error: { param: 'input', message: expect.stringContaining('No tool call found') } },
    ]);
    await expectGone(client, idOf(first));
    client.close();
  });

  overBoth(
    '63. an output that was given already, or comes before its call, is an orphan',
    here,
    async (client) => {
      const made = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
      const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
      for (const input of [
        [made, output, output],
        [output, made],
        [made, { ...output, call_id: 'c2' }],
        [made, { ...output, call_id: 'C1' }],
      ]) {
        const events = await client.create({ input });
        expect(events).toMatchObject([{ status: 400, error: { param: 'input' } }]);
      }
      const first = await client.create({ input: [made, output] });
      const again = await client.create({ previous_response_id: idOf(first), input: [output] });
      expect(again).toMatchObject([
        { status: 400, error: { message: expect.stringContaining('call_id c1') } },
      ]);
    },
  );

  overBoth(
    '64. a call without its output is a 400 that names it, in the chain or in one request',
    here,
    async (client) => {
      for (const marker of ['', 'custom=note', 'parallel=2']) {
        const first = await client.create({ input: `x [sim ${marker}]`, tools: TOOLS });
        const calls = terminal(first).response.output.filter(({ call_id }) => call_id !== undefined);
        const [answered, ...waiting] = marker === 'parallel=2' ? calls : [undefined, ...calls];
        const output = answered && { type: 'function_call_output', call_id: answered.call_id, output: 'x' };
        const input = [...(output === undefined ? [] : [output]), { role: 'user', content: 'never mind' }];
        const events = await client.create({ previous_response_id: idOf(first), input, tools: TOOLS });
        expect(events).toMatchObject([
          {
            status: 400,
            error: {
              type: 'invalid_request_error',
              param: 'input',
              message: expect.stringMatching(
                new RegExp(`^No tool output found for .*call ${waiting[0]?.call_id}\\.$`),
              ),
            },
          },
        ]);
        // Nothing at all is no answer either.
        const silent = await client.create({ previous_response_id: idOf(first), input: [], tools: TOOLS });
        expect(silent).toMatchObject([{ status: 400, error: { param: 'input' } }]);
      }
      const made = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
      const events = await client.create({ input: [made, { role: 'user', content: 'never mind' }] });
      expect(events).toMatchObject([{ error: { message: 'No tool output found for function call c1.' } }]);
    },
  );

  overBoth('65. with a stored parent leaves it there for the next', here, async (client) => {
    const parent = idOf(await client.create({ input: 'root' }));
    for (const failing of [
      { input: [ORPHANS[0]?.[1]] },
      { input: 'x [sim die=3]' },
      { input: 'x', model: 'nope' },
    ]) {
      const events = await client.create({ previous_response_id: parent, ...failing });
      expect(events.at(-1)?.type).toMatch(/^(error|response\.failed)$/);
      expect(textOf(await expectThere(client, parent))).toContain('message 2');
    }
    const other = await socket();
    await expectThere(other, parent);
    other.close();
  });
});
