import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EventFrame } from '@turnpike/protocol';
import type { WebSocket } from 'ws';
import { SlowStream, settled } from '../../testing/slow-stream.js';
import { Outbox } from './outbox.js';

const LIMITS = { sendBufferBytes: 100_000, sendTimeoutMs: 30_000 };

/** What the outbox uses of a WebSocket: two writes a frame, head and payload, as ws makes them. */
class FakeClient {
  readonly OPEN = 1;
  readyState = 1;
  readonly sent: string[] = [];
  paused = false;
  readonly #socket: SlowStream;

  constructor(socket: SlowStream) {
    this.#socket = socket;
  }
  get bufferedAmount(): number {
    return this.#socket.writableLength;
  }
  send(text: string): void {
    this.sent.push(text);
    this.#socket.cork();
    this.#socket.write(Buffer.alloc(4));
    this.#socket.write(Buffer.from(text));
    this.#socket.uncork();
  }
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
  terminate(): void {
    this.readyState = 3;
    this.#socket.destroy();
  }
}

function setUp() {
  const socket = new SlowStream();
  const client = new FakeClient(socket);
  const outbox = new Outbox(client as unknown as WebSocket, socket, LIMITS);
  return { socket, client, outbox };
}

const frame = (length = 10): EventFrame => ({ type: 'response.output_text.delta', json: 'x'.repeat(length) });

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('frames', () => {
  it.each([1, 2, 8, 100])('of a batch of %i are one write to the socket', (count) => {
    const { socket, client, outbox } = setUp();
    outbox.send(Array.from({ length: count }, () => frame()));
    expect(client.sent).toHaveLength(count);
    expect(socket.writes).toHaveLength(1);
  });

  it('keep their order, replies between batches included', () => {
    const { client, outbox } = setUp();
    outbox.send([
      { ...frame(), json: 'a' },
      { ...frame(), json: 'b' },
    ]);
    outbox.sendText('c');
    outbox.send([{ ...frame(), json: 'd' }]);
    expect(client.sent).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are dropped when the connection is not open', () => {
    const { client, outbox } = setUp();
    for (const state of [0, 2, 3]) {
      client.readyState = state;
      outbox.send([frame()]);
      outbox.sendText('x');
      expect(outbox.ready()).toBeUndefined();
    }
    expect(client.sent).toEqual([]);
  });
});

describe('D07: a slow reader', () => {
  it('lets writers go on up to the limit', () => {
    const { outbox } = setUp();
    outbox.send([frame(50_000)]);
    expect(outbox.ready()).toBeUndefined();
  });

  it('makes every lane wait, all for the same moment', async () => {
    const { socket, outbox } = setUp();
    outbox.send([frame(150_000)]);
    const waits = Array.from({ length: 16 }, () => outbox.ready() ?? Promise.reject(new Error('no wait')));
    expect(new Set(waits).size).toBe(1);
    expect(socket.listenerCount('drain')).toBe(1);
    expect(jest.getTimerCount()).toBe(1);
    expect(await settled(Promise.all(waits))).toBe(false);
    await socket.release();
    await Promise.all(waits);
    expect(outbox.ready()).toBeUndefined();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('can fall behind again, with a deadline of its own', async () => {
    const { socket, client, outbox } = setUp();
    for (let round = 0; round < 3; round++) {
      outbox.send([frame(150_000)]);
      const ready = outbox.ready();
      jest.advanceTimersByTime(LIMITS.sendTimeoutMs - 1);
      await socket.release();
      await ready;
    }
    expect(client.readyState).toBe(client.OPEN);
  });

  it('is disconnected after the deadline, and writers go on to find that out', async () => {
    const { client, outbox } = setUp();
    outbox.send([frame(150_000)]);
    const ready = outbox.ready();
    jest.advanceTimersByTime(LIMITS.sendTimeoutMs - 1);
    expect(client.readyState).toBe(client.OPEN);
    jest.advanceTimersByTime(1);
    await ready;
    expect(client.readyState).not.toBe(client.OPEN);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('that leaves ends the wait', async () => {
    const { socket, outbox } = setUp();
    outbox.send([frame(150_000)]);
    const ready = outbox.ready();
    socket.destroy();
    await ready;
    expect(jest.getTimerCount()).toBe(0);
    expect(socket.listenerCount('drain')).toBe(0);
  });

  it('that does not read its replies is not read either', async () => {
    const { socket, client, outbox } = setUp();
    outbox.sendText('x'.repeat(50_000));
    expect(client.paused).toBe(false);
    outbox.sendText('x'.repeat(60_000));
    expect(client.paused).toBe(true);
    await socket.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(client.paused).toBe(false);
  });
});
