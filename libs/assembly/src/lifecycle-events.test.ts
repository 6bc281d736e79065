import { describe, expect, it } from '@jest/globals';
import { newResponse, parseRequest, type ResponseObject } from '@turnpike/protocol';
import { message, parsed, read, run, USAGE } from '../testing/script.js';
import { queuedEvents, ResponseAssembler, terminalEvent } from './index.js';

const ECHO_BYTES = 10_000;
const REQUEST = parseRequest(
  { model: 'm', background: true, tools: [{ type: 'function', name: 'f' }] },
  'http',
);
const QUEUED: ResponseObject = { ...newResponse('resp_1', REQUEST, 1_764_000_000), status: 'queued' };

/** The assembler that goes on behind the queued events. */
const behind = () =>
  new ResponseAssembler(newResponse('resp_1', REQUEST, 1_764_000_000), {
    toolsKey: REQUEST.toolsKey,
    echoBytes: ECHO_BYTES,
    sequence: 2,
  });

describe('a response that waits for its turn', () => {
  it('is created and queued, and goes on with in_progress under the next numbers', () => {
    const events = [
      ...read(queuedEvents(QUEUED, REQUEST.toolsKey, ECHO_BYTES)),
      ...read(run(behind(), [parsed([message('hi')])])),
    ];
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'response.created', response: { status: 'queued', background: true } },
      { type: 'response.queued', response: { status: 'queued' } },
      { type: 'response.in_progress', response: { status: 'in_progress', background: true } },
    ]);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)?.type).toBe('response.completed');
  });
});

describe('the terminal event', () => {
  it('made from the response is the one that the assembler writes', () => {
    const assembler = behind();
    const events = run(assembler, [parsed([message('hi')])]);
    const last = events.at(-1);
    expect(terminalEvent(assembler.response, 1 + events.length, ECHO_BYTES)).toEqual(last);
  });

  it('of a cancelled response is response.failed, which says cancelled and has no error', () => {
    const assembler = behind();
    const cut = { ...message('half an ans'), complete: false };
    const last = read(run(assembler, [parsed([cut])], { status: 'cancelled' })).at(-1);
    expect(last).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'cancelled',
        error: null,
        incomplete_details: null,
        completed_at: null,
        usage: USAGE,
        output: [{ type: 'message', status: 'incomplete' }],
      },
    });
  });

  it('is none of a response that has not ended', () => {
    expect(() => terminalEvent(QUEUED, 2, ECHO_BYTES)).toThrow('has no terminal event');
  });
});
