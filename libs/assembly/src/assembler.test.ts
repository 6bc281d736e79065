import { describe, expect, it } from '@jest/globals';
import { MAX_ECHO_CHARACTERS } from '@turnpike/protocol';
import {
  USAGE,
  assembler,
  customCall,
  functionCall,
  message,
  parsed,
  read,
  reasoning,
  run,
  type ClientEvent,
  type Message,
} from '../testing/script.js';

/** The events of one item: everything between the lifecycle events. Ids, being random, are written as their prefix. */
function itemEvents(events: readonly ClientEvent[]): unknown[] {
  const text = JSON.stringify(events.filter(({ type }) => !/^response\.[a-z_]+$/.test(type)));
  return JSON.parse(text.replaceAll(/"(msg|rs|fc|ctc|call)_[0-9a-f]{48}"/g, '"$1"')) as unknown[];
}

function eventsOf(...messages: Message[]): ClientEvent[] {
  return read(run(assembler(), [parsed(messages)]));
}

describe('the events of an item', () => {
  it('are those of a message', () => {
    const place = { item_id: 'msg', output_index: 0, content_index: 0 };
    const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
    const item = {
      type: 'message',
      id: 'msg',
      role: 'assistant',
      status: 'in_progress',
      content: [],
      phase: 'final_answer',
    };
    const whole = { ...part, text: 'Hello' };
    expect(itemEvents(eventsOf(message('Hel', 'lo')))).toEqual([
      { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item },
      { type: 'response.content_part.added', sequence_number: 3, ...place, part },
      { type: 'response.output_text.delta', sequence_number: 4, ...place, delta: 'Hel', logprobs: [] },
      { type: 'response.output_text.delta', sequence_number: 5, ...place, delta: 'lo', logprobs: [] },
      { type: 'response.output_text.done', sequence_number: 6, ...place, text: 'Hello', logprobs: [] },
      { type: 'response.content_part.done', sequence_number: 7, ...place, part: whole },
      {
        type: 'response.output_item.done',
        sequence_number: 8,
        output_index: 0,
        item: { ...item, status: 'completed', content: [whole] },
      },
    ]);
  });

  it('are those of reasoning', () => {
    const place = { item_id: 'rs', output_index: 0, content_index: 0 };
    const item = { type: 'reasoning', id: 'rs', summary: [], content: [], status: 'in_progress' };
    const whole = { type: 'reasoning_text', text: 'Thinking.' };
    expect(itemEvents(eventsOf(reasoning('Think', 'ing.')))).toEqual([
      { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item },
      {
        type: 'response.content_part.added',
        sequence_number: 3,
        ...place,
        part: { type: 'reasoning_text', text: '' },
      },
      { type: 'response.reasoning_text.delta', sequence_number: 4, ...place, delta: 'Think' },
      { type: 'response.reasoning_text.delta', sequence_number: 5, ...place, delta: 'ing.' },
      { type: 'response.reasoning_text.done', sequence_number: 6, ...place, text: 'Thinking.' },
      { type: 'response.content_part.done', sequence_number: 7, ...place, part: whole },
      {
        type: 'response.output_item.done',
        sequence_number: 8,
        output_index: 0,
        item: { ...item, status: 'completed', content: [whole] },
      },
    ]);
  });

  it('are those of a function call', () => {
    const place = { item_id: 'fc', output_index: 0 };
    const item = {
      type: 'function_call',
      id: 'fc',
      call_id: 'call',
      name: 'get_weather',
      arguments: '',
      status: 'in_progress',
    };
    const json = '{"city":"Oslo"}';
    expect(itemEvents(eventsOf(functionCall('{"city":', '"Oslo"}')))).toEqual([
      { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item },
      { type: 'response.function_call_arguments.delta', sequence_number: 3, ...place, delta: '{"city":' },
      { type: 'response.function_call_arguments.delta', sequence_number: 4, ...place, delta: '"Oslo"}' },
      {
        type: 'response.function_call_arguments.done',
        sequence_number: 5,
        ...place,
        arguments: json,
        name: 'get_weather',
      },
      {
        type: 'response.output_item.done',
        sequence_number: 6,
        output_index: 0,
        item: { ...item, status: 'completed', arguments: json },
      },
    ]);
  });

  it('are those of a custom tool call, whose input is text as it is', () => {
    const place = { item_id: 'ctc', output_index: 0 };
    const item = {
      type: 'custom_tool_call',
      id: 'ctc',
      call_id: 'call',
      name: 'apply_patch',
      input: '',
      status: 'in_progress',
    };
    const input = '*** Begin Patch\n*** End Patch';
    expect(itemEvents(eventsOf(customCall('*** Begin', ' Patch\n*** End Patch')))).toEqual([
      { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item },
      { type: 'response.custom_tool_call_input.delta', sequence_number: 3, ...place, delta: '*** Begin' },
      {
        type: 'response.custom_tool_call_input.delta',
        sequence_number: 4,
        ...place,
        delta: ' Patch\n*** End Patch',
      },
      { type: 'response.custom_tool_call_input.done', sequence_number: 5, ...place, input },
      {
        type: 'response.output_item.done',
        sequence_number: 6,
        output_index: 0,
        item: { ...item, status: 'completed', input },
      },
    ]);
  });

  it('carry the namespace of a tool, and none where there is none', () => {
    const header = { type: 'function_call', name: 'y', namespace: 'mcp__x' } as const;
    const [added] = itemEvents(eventsOf({ header, texts: [] })) as { item: object }[];
    expect(added?.item).toMatchObject({ name: 'y', namespace: 'mcp__x' });
    expect(JSON.stringify(eventsOf(functionCall('{}')))).not.toContain('namespace');
  });

  it('are complete for an item without text', () => {
    expect(
      eventsOf(message(), functionCall('', '')).map(({ type }) => type.replace('response.', '')),
    ).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.done', 'content_part.done', 'output_item.done'],
      ...['output_item.added', 'function_call_arguments.done', 'output_item.done', 'completed'],
    ]);
  });

  it('close one item before the next is added', () => {
    const events = itemEvents(eventsOf(reasoning('a'), message('b'), functionCall('{}'))) as ClientEvent[];
    const order = events.filter(({ type }) => type.startsWith('response.output_item'));
    expect(
      order.map(({ type, output_index }) => [type.replace('response.output_item.', ''), output_index]),
    ).toEqual([
      ['added', 0],
      ['done', 0],
      ['added', 1],
      ['done', 1],
      ['added', 2],
      ['done', 2],
    ]);
  });
});

describe('the life of a response', () => {
  it('begins with the response as asked for, and ends with all of it', () => {
    const events = eventsOf(message('hi'));
    const running = {
      id: 'resp_1',
      object: 'response',
      status: 'in_progress',
      output: [],
      usage: null,
      completed_at: null,
    };
    expect(events[0]).toMatchObject({ type: 'response.created', sequence_number: 0, response: running });
    expect(events[1]).toMatchObject({ type: 'response.in_progress', sequence_number: 1, response: running });
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: {
        id: 'resp_1',
        status: 'completed',
        completed_at: 1_764_000_009,
        usage: USAGE,
        error: null,
        incomplete_details: null,
        output: [{ type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'hi' }] }],
      },
    });
  });

  it('may end incomplete, with the cut item as it is', () => {
    const cut = { ...functionCall('{"cmd":"rm -rf /tmp/x'), complete: false };
    const chunks = [parsed([message('Let me look.'), cut])];
    const last = read(run(assembler(), chunks, { status: 'incomplete', reason: 'max_output_tokens' })).at(-1);
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        error: null,
        completed_at: null,
        usage: USAGE,
        output: [{ status: 'completed' }, { status: 'incomplete', arguments: '{"cmd":"rm -rf /tmp/x' }],
      },
    });
  });

  it('may fail after output, which stays', () => {
    const ending = { status: 'failed', code: 'server_error', message: 'The engine failed.' } as const;
    const events = read(run(assembler(), [parsed([{ ...message('half an ans'), complete: false }])], ending));
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'The engine failed.' },
        incomplete_details: null,
        usage: USAGE,
        output: [{ type: 'message', status: 'incomplete' }],
      },
    });
    expect(events.at(-1)).not.toHaveProperty('error');
  });

  it('knows the ids of its items and what was reasoning', () => {
    const response = assembler();
    run(response, [parsed([reasoning('a', 'b', 'c'), message('d'), reasoning('e')])]);
    expect(response.reasoningTokens).toBe(4);
    expect(response.items.map(({ item, ids }) => [item.type, [...ids]])).toEqual([
      ['reasoning', [3]],
      ['message', [1]],
      ['reasoning', [1]],
    ]);
    expect(response.response.output).toEqual(response.items.map(({ item }) => item));
  });

  it('shows no sign of the end before it has come', () => {
    const response = assembler();
    response.begin();
    expect(() => response.terminal()).toThrow('in_progress');
    response.push([{ kind: 'open', header: { type: 'reasoning' } }]);
    expect(() => response.end({ status: 'completed' }, USAGE, 0)).toThrow('still open');
  });

  it('has one terminal event, and nothing after it', () => {
    const response = assembler();
    run(response, []);
    expect(() => response.terminal()).toThrow('nothing may follow');
    expect(() => response.keepAlive()).toThrow('nothing may follow');
    expect(() => response.push([])).toThrow('already ended');
    expect(() => response.end({ status: 'completed' }, USAGE, 0)).toThrow('already ended');
  });

  it.each<[string, Parameters<typeof parsed>[0], number]>([
    ['text before an item', [message('x')], 1],
    ['a close before an item', [message()], 1],
  ])('refuses %s', (_, messages, from) => {
    expect(() => assembler().push(parsed(messages).slice(from))).toThrow('outside an output item');
  });

  it('refuses an item inside another', () => {
    const open = { kind: 'open', header: { type: 'reasoning' } } as const;
    expect(() => assembler().push([open, open])).toThrow('overlap');
  });
});

describe('lifecycle events', () => {
  const description = 'd'.repeat(MAX_ECHO_CHARACTERS);
  const tools = [{ type: 'function', name: 'f', description }];

  it('repeat tools and instructions of usual size', () => {
    const small = [{ type: 'function', name: 'f' }];
    for (const event of read(run(assembler({ tools: small, instructions: 'i' }), []))) {
      expect(event['response']).toMatchObject({ tools: small, instructions: 'i' });
    }
  });

  it('leave long ones out, so that no client refuses the message', () => {
    const response = assembler({ tools, instructions: 'i' });
    for (const event of read(run(response, []))) {
      expect(event['response']).toMatchObject({ tools: [], instructions: null });
    }
    expect(response.response.tools).toEqual(tools);
  });
});

describe('a sign of life', () => {
  it('is numbered like any event and says nothing else', () => {
    const response = assembler();
    const frames = [...response.begin(), response.keepAlive()];
    frames.push(...response.push(parsed([message('a')]).slice(0, 2)), response.keepAlive());
    const events = read(frames);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.filter(({ type }) => type === 'keepalive')).toEqual([
      { type: 'keepalive', sequence_number: 2 },
      { type: 'keepalive', sequence_number: 6 },
    ]);
  });

  it('echoes its lane', () => {
    const response = assembler({}, 'main');
    response.begin();
    expect(response.keepAlive().json).toBe('{"type":"keepalive","sequence_number":2,"stream_id":"main"}');
  });
});
