import { describe, expect, it } from '@jest/globals';
import {
  ECHO_BYTES,
  USAGE,
  assembler,
  functionCall,
  message,
  parsed,
  read,
  reasoning,
  run,
} from '../testing/script.js';

describe('the life of a response', () => {
  it('begins with the response as asked for, and ends with all of it', () => {
    const events = read(run(assembler(), [parsed([message('hi')])]));
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
    expect(response.items.map(({ item, ids }) => [item.type, [...(ids ?? [])]])).toEqual([
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
    expect(() => assembler().push([open, open])).toThrow('still open');
  });
});

describe('lifecycle events', () => {
  const description = 'd'.repeat(ECHO_BYTES);
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
    expect(response.response.tools).toMatchObject(tools);
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
