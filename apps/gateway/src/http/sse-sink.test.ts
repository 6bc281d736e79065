import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { EventFrame } from '@turnpike/protocol';
import { SlowStream, settled } from '../../testing/slow-stream.js';
import { SseSink } from './sse-sink.js';

const TIMEOUT_MS = 30_000;
const LIMITS = { sendBufferBytes: 100_000, sendTimeoutMs: TIMEOUT_MS };

const frame = (type: EventFrame['type'], fields = ''): EventFrame => ({
  type,
  json: `{"type":"${type}"${fields}}`,
});

/** The part of a response that the sink uses, with a client behind it that reads only when told to. */
class FakeResponse extends SlowStream {
  readonly heads: unknown[] = [];

  get headersSent(): boolean {
    return this.heads.length > 0;
  }
  writeHead(...head: unknown[]): void {
    this.heads.push(head);
  }
  flushed = 0;
  flushHeaders(): void {
    this.flushed++;
  }
}

function setUp() {
  const response = new FakeResponse();
  return { response, sink: new SseSink(response as unknown as ServerResponse, LIMITS) };
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('an answer that has no event yet', () => {
  it('begins all the same, shows life with what is no event, and has one head', async () => {
    const { response, sink } = setUp();
    sink.open();
    expect([response.heads.length, response.flushed]).toEqual([1, 1]);
    sink.pulse();
    sink.send([frame('response.created')]);
    await response.release();
    expect(response.heads).toHaveLength(1);
    expect(response.writes).toEqual([
      ': keepalive\n\n',
      'event: response.created\ndata: {"type":"response.created"}\n\n',
    ]);
  });
});

describe('events', () => {
  it('go out as they are, one write a batch, under headers that no proxy collects them with', async () => {
    const { response, sink } = setUp();
    sink.send([frame('response.created'), frame('response.output_text.delta', ',"delta":"a\\nb"')]);
    sink.send([frame('response.completed')]);
    await response.release();
    expect(response.heads).toEqual([
      [
        200,
        {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
          'openai-processing-ms': expect.stringMatching(/^\d+$/),
        },
      ],
    ]);
    expect(response.writes).toEqual([
      'event: response.created\ndata: {"type":"response.created"}\n\n' +
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a\\nb"}\n\n',
      'event: response.completed\ndata: {"type":"response.completed"}\n\n',
    ]);
  });

  it('are dropped once the response is closed or ended', () => {
    for (const close of ['destroy', 'end'] as const) {
      const { response, sink } = setUp();
      sink.send([frame('response.created')]);
      response[close]();
      const write = jest.spyOn(response, 'write');
      sink.send([frame('response.in_progress')]);
      expect(write).not.toHaveBeenCalled();
      expect(sink.ready()).toBeUndefined();
    }
  });
});

describe('D07: a slow reader', () => {
  const large = frame('response.output_text.delta', `,"delta":"${'x'.repeat(200_000)}"`);

  it('that keeps up lets the writer go on', async () => {
    const { response, sink } = setUp();
    sink.send([frame('response.created')]);
    await response.release();
    expect(sink.ready()).toBeUndefined();
  });

  it('may leave as much unread as the limit says', () => {
    const { response, sink } = setUp();
    sink.send([frame('response.output_text.delta', `,"delta":"${'x'.repeat(60_000)}"`)]);
    expect(response.writableNeedDrain).toBe(true);
    expect(sink.ready()).toBeUndefined();
    sink.send([frame('response.output_text.delta', `,"delta":"${'x'.repeat(60_000)}"`)]);
    expect(sink.ready()).toBeDefined();
  });

  it('makes the writer wait until it has read', async () => {
    const { response, sink } = setUp();
    sink.send([large]);
    const ready = sink.ready() ?? Promise.reject(new Error('nothing to wait for'));
    expect(await settled(ready)).toBe(false);
    await response.release();
    await ready;
    expect(sink.ready()).toBeUndefined();
    expect(jest.getTimerCount()).toBe(0);
    expect(response.destroyed).toBe(false);
  });

  it('is disconnected after the deadline, and the writer goes on to find that out', async () => {
    const { response, sink } = setUp();
    sink.send([large]);
    const ready = sink.ready() ?? Promise.reject(new Error('nothing to wait for'));
    jest.advanceTimersByTime(TIMEOUT_MS - 1);
    expect(response.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect(response.destroyed).toBe(true);
    await ready;
    expect(jest.getTimerCount()).toBe(0);
  });

  it('that leaves ends the wait', async () => {
    const { response, sink } = setUp();
    sink.send([large]);
    const ready = sink.ready();
    response.destroy();
    await ready;
    expect(jest.getTimerCount()).toBe(0);
    expect(response.listenerCount('drain')).toBe(0);
  });
});
