import { describe, expect, it } from '@jest/globals';
import {
  assembler,
  customCall,
  functionCall,
  message,
  parsed,
  read,
  reasoning,
  run,
  toolSearch,
  type ClientEvent,
  type Message,
} from '../testing/script.js';

/** The events of one item: everything between the lifecycle events. Ids, being random, are written as their prefix. */
function itemEvents(events: readonly ClientEvent[]): unknown[] {
  const text = JSON.stringify(events.filter(({ type }) => !/^response\.[a-z_]+$/.test(type)));
  return JSON.parse(text.replaceAll(/"(msg|rs|fc|ctc|tsc|call)_[0-9a-f]{48}"/g, '"$1"')) as unknown[];
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

  it('are those of a search for tools, whose arguments are an object and not streamed', () => {
    const item = {
      type: 'tool_search_call',
      id: 'tsc',
      call_id: 'call',
      execution: 'client',
      arguments: {},
      status: 'in_progress',
    };
    expect(itemEvents(eventsOf(toolSearch('{"query":', '"x"}')))).toEqual([
      { type: 'response.output_item.added', sequence_number: 2, output_index: 0, item },
      {
        type: 'response.output_item.done',
        sequence_number: 3,
        output_index: 0,
        item: { ...item, status: 'completed', arguments: { query: 'x' } },
      },
    ]);
  });

  it.each<[string, unknown]>([
    ['', {}],
    [' \n', {}],
    ['{"a":{"b":[1,null]}}', { a: { b: [1, null] } }],
    ['{"query":"x"', '{"query":"x"'],
    ['["x"]', '["x"]'],
    ['"x"', '"x"'],
    ['null', 'null'],
    ['find it', 'find it'],
    [`{"a":${'['.repeat(300)}${']'.repeat(300)}}`, `{"a":${'['.repeat(300)}${']'.repeat(300)}}`],
  ])('keep what a model wrote as arguments of a search: %j', (text, expected) => {
    const [, done] = itemEvents(eventsOf(toolSearch(text))) as { item: object }[];
    expect(done?.item).toMatchObject({ arguments: expected });
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
