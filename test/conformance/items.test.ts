import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf, type WireItem } from '../e2e/socket-client.js';
import { expectGone } from './continuations.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { connect, overBoth, type Body } from './transports.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

const PARAMETERS = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
const SEARCH = {
  type: 'tool_search',
  execution: 'client',
  description: 'Finds tools.',
  parameters: PARAMETERS,
};
const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };

/** Items that clients keep in their history, calls with their outputs. */
const HISTORIES: [string, Body[]][] = [
  [
    'tool_search',
    [
      {
        type: 'tool_search_call',
        call_id: 'c',
        execution: 'client',
        arguments: { query: 'w' },
        status: 'completed',
      },
      {
        type: 'tool_search_output',
        call_id: 'c',
        execution: 'client',
        tools: [WEATHER],
        status: 'completed',
      },
    ],
  ],
  [
    'local_shell',
    [
      {
        type: 'local_shell_call',
        id: 'lsh_1',
        call_id: 'c',
        action: { type: 'exec', command: ['ls'], env: {} },
        status: 'completed',
      },
      { type: 'local_shell_call_output', id: 'lsho_1', call_id: 'c', output: 'a.txt' },
    ],
  ],
  [
    'shell',
    [
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] }, status: 'completed' },
      {
        type: 'shell_call_output',
        call_id: 'c',
        output: [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
  ],
  [
    'apply_patch',
    [
      {
        type: 'apply_patch_call',
        call_id: 'c',
        status: 'completed',
        operation: { type: 'update_file', path: 'a', diff: '+x' },
      },
      { type: 'apply_patch_call_output', call_id: 'c', status: 'completed', output: 'done' },
    ],
  ],
  [
    'computer',
    [
      {
        type: 'computer_call',
        id: 'cu_1',
        call_id: 'c',
        action: { type: 'wait' },
        pending_safety_checks: [],
        status: 'completed',
      },
      {
        type: 'computer_call_output',
        call_id: 'c',
        output: { type: 'computer_screenshot', file_id: 'file_1' },
      },
    ],
  ],
  [
    'web_search',
    [{ type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } }],
  ],
  [
    'file_search',
    [{ type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['x'], results: null }],
  ],
  [
    'code_interpreter',
    [
      {
        type: 'code_interpreter_call',
        id: 'ci_1',
        status: 'completed',
        code: '1',
        container_id: 'cntr_1',
        outputs: null,
      },
    ],
  ],
  ['image_generation', [{ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: null }]],
  ['mcp_list_tools', [{ type: 'mcp_list_tools', id: 'mcpl_1', server_label: 's', tools: [] }]],
  [
    'mcp_call',
    [
      {
        type: 'mcp_call',
        id: 'mcp_1',
        server_label: 's',
        name: 'n',
        arguments: '{}',
        output: 'o',
        error: null,
      },
    ],
  ],
  [
    'mcp_approval',
    [
      { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'n', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ],
  ],
  ['configuration_update', [{ type: 'configuration_update', reasoning: { effort: 'low' } }]],
];

describe('items of every kind', () => {
  for (const [name, items] of HISTORIES) {
    overBoth(`30. are taken in an input, and in a chain: ${name}`, here, async (client) => {
      const input = [
        { role: 'user', content: 'before' },
        ...items,
        { role: 'user', content: 'after [sim calls=0]' },
      ];
      const events = await client.create({ input });
      expect(textOf(events)).toContain('You said: "after". (message 2');
      const next = await client.create({ previous_response_id: idOf(events), input: 'go on [sim calls=0]' });
      expect(textOf(next)).toContain('message 3');
      const page = await fetch(`${stand.url}/v1/responses/${idOf(events)}/input_items?order=asc`);
      const { data } = (await page.json()) as { data: WireItem[] };
      expect(data.slice(1, -1)).toMatchObject(items);
    });
  }

  overBoth(
    '30. tool_search is called by the model, and what it finds can be called',
    here,
    async (client) => {
      const first = await client.create({ input: 'x [sim tool=tool_search]', tools: [SEARCH] });
      const call = terminal(first).response.output.at(-1);
      expect(call).toMatchObject({
        type: 'tool_search_call',
        execution: 'client',
        call_id: expect.any(String),
        status: 'completed',
      });
      const found = {
        type: 'tool_search_output',
        call_id: call?.call_id,
        execution: 'client',
        tools: [WEATHER],
      };
      const second = await client.create({
        previous_response_id: idOf(first),
        input: [found],
        tools: [SEARCH],
      });
      expect(terminal(second).response.status).toBe('completed');
      const third = await client.create({
        previous_response_id: idOf(second),
        input: 'x [sim tool=get_weather]',
        tools: [SEARCH],
      });
      expect(terminal(third).response.output.at(-1)).toMatchObject({
        type: 'function_call',
        name: 'get_weather',
      });
    },
  );

  overBoth('30. configuration_update holds for the rest of the chain', here, async (client) => {
    const first = await client.create({
      input: [
        { type: 'configuration_update', reasoning: { effort: 'high' } },
        { role: 'user', content: 'x' },
      ],
    });
    stand.takePrompts();
    await client.create({ previous_response_id: idOf(first), input: 'y' });
    expect(stand.takePrompts()[0]).toContain('Reasoning: high');
  });
});

describe('outputs without their call', () => {
  const OUTPUTS: [string, Body][] = [
    ['tool_search_output', { type: 'tool_search_output', call_id: 'c9', execution: 'client', tools: [] }],
    [
      'shell_call_output',
      {
        type: 'shell_call_output',
        call_id: 'c9',
        output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
    [
      'apply_patch_call_output',
      { type: 'apply_patch_call_output', call_id: 'c9', status: 'completed', output: 'x' },
    ],
    ['local_shell_call_output', { type: 'local_shell_call_output', call_id: 'c9', output: 'x' }],
    [
      'computer_call_output',
      { type: 'computer_call_output', call_id: 'c9', output: { type: 'computer_screenshot', file_id: 'f' } },
    ],
  ];

  it.each(OUTPUTS)('63. %s is a 400, and evicts the parent', async (_type, output) => {
    const client = await connect('websocket', stand);
    for (const input of [[output], [{ role: 'user', content: 'x' }, output]]) {
      const parent = idOf(await client.create({ input: 'x', store: false }));
      const events = await client.create({ previous_response_id: parent, input, store: false });
      expect(events).toMatchObject([
        {
          status: 400,
          error: { type: 'invalid_request_error', param: 'input', message: expect.stringContaining('c9') },
        },
      ]);
      await expectGone(client, parent, { store: false });
    }
    client.close();
  });

  it('63. a call of one kind is not answered by an output of another', async () => {
    const client = await connect('http', stand);
    for (const [, [call]] of HISTORIES.filter(([, items]) => items.length === 2)) {
      for (const [, output] of OUTPUTS) {
        if (String(output['type']).startsWith(String(call?.['type']).replace(/_call$/, ''))) continue;
        const events = await client.create({ input: [call, { ...output, call_id: 'c' }] });
        expect([call?.['type'], output['type'], events[0]?.status]).toEqual([
          call?.['type'],
          output['type'],
          400,
        ]);
      }
    }
  });
});
