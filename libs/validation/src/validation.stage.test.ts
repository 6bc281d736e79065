import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError, parseRequest, type Item, type ResponseRequest } from '@turnpike/protocol';
import { expectIncremental, TurnContext, type TurnItem } from '@turnpike/turns';
import { ValidationStage, type Validated } from './index.js';

const stage = new ValidationStage();

interface Given {
  previous?: Validated | undefined;
  history?: readonly Item[];
  phase?: 'input' | 'output';
}

/** One turn with this request; `input` are its items. */
function advance(
  fields: Record<string, unknown>,
  { previous, history = [], phase = 'input' }: Given = {},
): Validated {
  const request: ResponseRequest = parseRequest({ model: 'm', ...fields }, 'websocket');
  const items = request.input.map((item): TurnItem => ({ item }));
  const start = {
    id: 'resp_1',
    tenant: 't',
    request,
    items,
    history: () => history.map((item) => ({ item })),
  };
  return stage.advance(previous, new TurnContext(start, phase).viewFor(stage));
}

function errorOf(fields: Record<string, unknown>, given?: Given): ApiError {
  try {
    advance(fields, given);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the turn was taken');
}

const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'c1', output: '1' };
const user = { role: 'user', content: 'hi' };
const tool = (name: string) => ({ type: 'function', name });

describe('tool pairing over turns', () => {
  it('takes the output of a call that an earlier turn made', () => {
    const called = advance({ input: [call] }, { phase: 'output' });
    expect([...called.waitingCalls.keys()]).toEqual(['c1']);
    expect(advance({ input: [output] }, { previous: called }).waitingCalls.size).toBe(0);
  });

  it('refuses to sample while a call waits, in this turn or an earlier one', () => {
    const message = 'No tool output found for function call c1.';
    expect(errorOf({ input: [call, user] }).body).toMatchObject({
      code: 'tool_output_mismatch',
      message,
      param: 'input',
    });
    const called = advance({ input: [call] }, { phase: 'output' });
    expect(errorOf({ input: [user] }, { previous: called }).message).toBe(message);
  });

  it('lets a warm-up leave calls open', () => {
    const warm = advance({ generate: false, input: [call] });
    expect(errorOf({ input: [user] }, { previous: warm }).code).toBe('tool_output_mismatch');
    expect(advance({ input: [output, user] }, { previous: warm }).waitingCalls.size).toBe(0);
  });

  it('does not wait for a call that was cut short', () => {
    const cut = advance({ input: [{ ...call, status: 'incomplete' }] }, { phase: 'output' });
    expect(advance({ input: [user] }, { previous: cut }).waitingCalls.size).toBe(0);
  });

  it('refuses an output whose call came in no turn', () => {
    expect(errorOf({ input: [output] }, { previous: advance({ input: 'hi' }) }).body).toMatchObject({
      code: 'tool_output_mismatch',
      message: 'No tool call found for function call output with call_id c1.',
    });
  });

  it('finds calls in the history of a parent that was made without this stage', () => {
    const history: Item[] = [{ type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }];
    expect(advance({ input: [output] }, { history }).waitingCalls.size).toBe(0);
  });
});

describe('files', () => {
  const file = { type: 'input_file', file_id: 'f' };
  const text = { type: 'input_text', text: 'x' };

  const inline = { type: 'input_file', file_data: 'data:text/plain;base64,aGk=', filename: 'a.txt' };
  it.each([
    [[{ role: 'user', content: [text, inline] }], 'input[0].content[1]'],
    [[user, { role: 'user', content: [file] }], 'input[1].content[0]'],
    [[user, call, { ...output, output: [text, text, file] }], 'input[2].output[2]'],
  ])('are refused by their place: %j', (input, param) => {
    expect(errorOf({ input }).body).toEqual({
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      message: "The model does not take 'input_file' parts: send what is in the file as 'input_text'.",
      param,
    });
  });

  it('are refused in a warm-up as well', () => {
    expect(errorOf({ generate: false, input: [{ role: 'user', content: [file] }] }).param).toBe(
      'input[0].content[0]',
    );
  });

  it('are not images, which are another stage’s affair', () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AA' };
    expect(() => advance({ input: [{ role: 'user', content: [image] }] })).not.toThrow();
  });
});

describe('tool_choice', () => {
  const shell = tool('shell');
  const patch = { type: 'custom', name: 'patch' };
  const namespace = { type: 'namespace', name: 'mcp__x', tools: [tool('y')] };
  const hosted = { type: 'web_search', name: 'web' };
  const tools = [shell, patch, namespace, hosted];
  const spaces = (...names: string[]) =>
    names.map((name) => ({ type: 'namespace', name, tools: [tool('h')] }));

  it.each<[string, unknown, unknown[]]>([
    ['auto', 'auto', []],
    ['none', 'none', []],
    ['any tool', 'required', [shell]],
    ['a function', { type: 'function', name: 'shell' }, tools],
    ['a custom tool', { type: 'custom', name: 'patch' }, tools],
    ['a tool in a namespace', { type: 'function', name: 'y' }, tools],
    ['a tool of that namespace', { type: 'function', name: 'h', namespace: 'b' }, spaces('a', 'b')],
    ['the tool outside of namespaces', { type: 'function', name: 'h' }, [...spaces('a', 'b'), tool('h')]],
    [
      'some of the tools',
      { type: 'allowed_tools', mode: 'required', tools: [shell, { type: 'web_search' }] },
      tools,
    ],
    [
      'a namespace',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'mcp__x' }] },
      tools,
    ],
    [
      'hosted tools, if it likes',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'web_search' }] },
      tools,
    ],
  ])('may ask for %s', (_, tool_choice, offered) => {
    expect(() => advance({ input: 'hi', tools: offered, tool_choice })).not.toThrow();
  });

  it.each<[string, unknown, unknown[], string]>([
    ['a tool where there is none', 'required', [], "Tool choice 'required' needs a tool that can be called."],
    [
      'a tool where all are hosted',
      'required',
      [hosted],
      "Tool choice 'required' needs a tool that can be called.",
    ],
    [
      'an unknown tool',
      { type: 'function', name: 'sh' },
      tools,
      "Tool choice 'sh' not found in 'tools' parameter.",
    ],
    [
      'a tool of another type',
      { type: 'custom', name: 'shell' },
      tools,
      "Tool choice 'shell' not found in 'tools' parameter.",
    ],
    [
      'the name of a hosted tool',
      { type: 'function', name: 'web' },
      tools,
      "Tool choice 'web' not found in 'tools' parameter.",
    ],
    [
      'a hosted tool',
      { type: 'web_search' },
      tools,
      "Tool choice 'web_search' needs a tool that this server does not host.",
    ],
    [
      'an allowed tool that is unknown',
      { type: 'allowed_tools', mode: 'auto', tools: [shell, tool('sh')] },
      tools,
      "Tool choice 'sh' not found in 'tools' parameter.",
    ],
    [
      'hosted tools only',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      tools,
      "Tool choice 'allowed_tools' names no tool that can be called.",
    ],
    [
      'a tool of a namespace that does not have it',
      { type: 'function', name: 'h', namespace: 'c' },
      spaces('b'),
      "Tool choice 'c.h' not found in 'tools' parameter.",
    ],
    [
      'an allowed tool of a namespace that does not have it',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'h', namespace: 'c' }] },
      spaces('b'),
      "Tool choice 'c.h' not found in 'tools' parameter.",
    ],
    [
      'a name that several namespaces have',
      { type: 'function', name: 'h' },
      spaces('a', 'b'),
      "Tool choice 'h' is ambiguous: several namespaces have it, so that 'namespace' has to be said.",
    ],
    [
      'text instead of a name',
      { type: 'function', name: 'the secret plan' },
      tools,
      "Tool choice '(15 characters)' not found in 'tools' parameter.",
    ],
  ])('may not ask for %s', (_, tool_choice, offered, message) => {
    expect(errorOf({ input: 'hi', tools: offered, tool_choice }).body).toEqual({
      type: 'invalid_request_error',
      code: 'invalid_value',
      message,
      param: 'tool_choice',
    });
  });

  it('may ask for a tool that joined the chain as an item, in this turn or an earlier one', () => {
    const input = [{ type: 'additional_tools', role: 'developer', tools: [namespace] }, user];
    const tool_choice = { type: 'function', name: 'y' };
    const joined = advance({ input, tool_choice });
    expect(() => advance({ input: 'hi', tool_choice }, { previous: joined })).not.toThrow();
    expect(() => advance({ input: 'hi', tool_choice: 'required' }, { previous: joined })).not.toThrow();
    expect(errorOf({ input: 'hi', tool_choice }).param).toBe('tool_choice');
  });
});

describe('tool search', () => {
  const search = { type: 'tool_search', execution: 'client', parameters: {} };
  const later = { ...tool('later'), defer_loading: true };
  const searched = { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: {} };
  const found = { type: 'tool_search_output', call_id: 'c1', execution: 'client', tools: [later] };
  const choose = (name: string) => ({ type: 'function', name });

  it.each<[string, unknown]>([
    ['by its type', { type: 'tool_search' }],
    [
      'among those that are allowed',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'tool_search' }] },
    ],
    ['as any tool', 'required'],
  ])('by the client may be asked for %s', (_, tool_choice) => {
    expect(() => advance({ input: 'hi', tools: [search], tool_choice })).not.toThrow();
  });

  it.each([[{ type: 'tool_search' }], [{ type: 'tool_search', execution: 'server' }], [tool('f')]])(
    'may not be asked for where there is only %j',
    (offered) => {
      const error = errorOf({ input: 'hi', tools: [offered], tool_choice: { type: 'tool_search' } });
      expect(error.body).toMatchObject({
        param: 'tool_choice',
        message: "Tool choice 'tool_search' needs a tool that this server does not host.",
      });
    },
  );

  it('brings tools that can be asked for once they are found, and for the rest of the chain', () => {
    const tools = [search, later];
    const before = errorOf({ input: 'hi', tools, tool_choice: choose('later') });
    expect(before.body).toMatchObject({ param: 'tool_choice', code: 'invalid_value' });
    const joined = advance({ input: [searched, found, user], tools, tool_choice: choose('later') });
    expect(joined.addedTools).toEqual([later]);
    expect(() =>
      advance({ input: 'more', tool_choice: choose('later') }, { previous: joined }),
    ).not.toThrow();
  });

  it('hides nothing where the server is to search, or nobody', () => {
    for (const tools of [[later], [{ type: 'tool_search' }, later]]) {
      expect(() => advance({ input: 'hi', tools, tool_choice: choose('later') })).not.toThrow();
    }
  });

  it('hides tools of an item that brings a search with them', () => {
    const item = { type: 'additional_tools', tools: [search, later, tool('now')] };
    const { addedTools } = advance({ input: [item, user] });
    expect(addedTools.map((each) => 'name' in each && each.name)).toEqual([false, 'now']);
  });
});

describe('a configuration update', () => {
  const update = (schema: unknown) => ({
    type: 'configuration_update',
    text: { format: { type: 'json_schema', name: 'a', schema } },
  });

  it('is refused by its place when its schema cannot be used', () => {
    expect(errorOf({ input: [user, update({ type: 'nonsense' })] }).body).toMatchObject({
      code: 'invalid_value',
      param: 'input[1].text.format.schema',
      message: expect.stringContaining("The schema of 'input[1].text.format' cannot be used"),
    });
    expect(() => advance({ input: [user, update({ type: 'object' })] })).not.toThrow();
  });
});

describe('the artifact', () => {
  it('is the same object where a turn brings nothing to know', () => {
    const first = advance({ input: 'hi' });
    expect(advance({ input: 'more' }, { previous: first })).toBe(first);
  });
});

/** Conversations in which outputs follow their calls, cut into turns anywhere. */
const callIds = ['c1', 'c2', 'c3'];
const step = fc.oneof(
  fc.record({
    kind: fc.constant('say' as const),
    role: fc.constantFrom('user' as const, 'assistant' as const),
  }),
  fc.record({
    kind: fc.constant('call' as const),
    id: fc.constantFrom(...callIds),
    type: fc.constantFrom('function_call' as const, 'custom_tool_call' as const),
    cut: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('answer' as const), at: fc.nat() }),
  fc.record({ kind: fc.constant('tools' as const), name: fc.constantFrom('a', 'b') }),
);
const conversation = fc.array(step, { maxLength: 14 }).map((steps) => {
  const open = new Map<string, 'function_call' | 'custom_tool_call'>();
  return steps.flatMap((one): TurnItem[] => {
    if (one.kind === 'say') return [{ item: { type: 'message', role: one.role, content: [] } }];
    if (one.kind === 'tools')
      return [{ item: { type: 'additional_tools', role: 'developer', tools: [tool(one.name)] } }];
    if (one.kind === 'call') {
      const status = one.cut ? 'incomplete' : 'completed';
      if (!one.cut) open.set(one.id, one.type);
      const fields = { call_id: one.id, name: 'f', status } as const;
      const item: Item =
        one.type === 'function_call'
          ? { type: one.type, ...fields, arguments: '' }
          : { type: one.type, ...fields, input: '' };
      return [{ item, sampled: { format: 'test', ids: Int32Array.of(1) } }];
    }
    const waiting = [...open];
    const [id, type] = waiting[one.at % Math.max(waiting.length, 1)] ?? [];
    if (id === undefined) return [];
    open.delete(id);
    return [
      {
        item: {
          type: type === 'function_call' ? 'function_call_output' : 'custom_tool_call_output',
          call_id: id,
          output: '',
        },
      },
    ];
  });
});

describe('the laws of a stage', () => {
  it('hold for any conversation, in any split over turns', () =>
    fc.assert(
      fc.asyncProperty(conversation, fc.array(fc.nat(), { maxLength: 5 }), (items, cuts) => {
        const places = [
          0,
          ...cuts.map((cut) => cut % (items.length + 1)).sort((a, b) => a - b),
          items.length,
        ];
        const turns = places.slice(1).map((to, index) => items.slice(places[index], to));
        return expectIncremental(stage, { turns });
      }),
      { numRuns: 60 },
    ));
});
