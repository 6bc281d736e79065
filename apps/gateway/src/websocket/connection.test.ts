import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { log } from '../log.js';
import { Connection, type ConnectionParts } from './connection.js';

const PING_MS = 20_000;

/** A connection whose client answers no ping. */
function connect() {
  const client = Object.assign(new EventEmitter(), { ping: jest.fn(), terminate: jest.fn() });
  const socket = { bytesRead: 200 };
  const parts = { client, socket, principal: { tenant: 't' }, lifetimeMs: 3_600_000, queuedBytes: 0 };
  new Connection(parts as unknown as ConnectionParts);
  return { client, socket };
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a client that answers no ping', () => {
  it('is cut off after two when nothing else came either', () => {
    const { client } = connect();
    jest.advanceTimersByTime(2 * PING_MS);
    expect(client.ping).toHaveBeenCalledTimes(2);
    expect(client.terminate).not.toHaveBeenCalled();
    jest.advanceTimersByTime(PING_MS);
    expect(client.terminate).toHaveBeenCalledTimes(1);
  });

  it('is alive while parts of a large message come in', () => {
    const { client, socket } = connect();
    for (let beat = 0; beat < 10; beat++) {
      socket.bytesRead += 1;
      jest.advanceTimersByTime(PING_MS);
    }
    expect(client.terminate).not.toHaveBeenCalled();
    expect(client.ping).toHaveBeenCalledTimes(10);
  });
});

describe('a fault of the server while it handles a frame (G01)', () => {
  const thrown = new TypeError('cannot read the secret of undefined');
  const { level } = log;
  beforeEach(() => {
    log.level = 'silent';
  });
  afterEach(() => {
    log.level = level;
  });

  it.each([
    [
      'thrown at once',
      () => {
        throw thrown;
      },
    ],
    ['that comes later', () => Promise.reject(thrown)],
  ])('%s is an error frame of its lane, and the connection lives on', async (_name, read) => {
    const client = Object.assign(new EventEmitter(), {
      ping: jest.fn(),
      terminate: jest.fn(),
      close: jest.fn(),
    });
    const sent: Record<string, unknown>[] = [];
    const outbox = {
      sendText: (json: string) => sent.push(JSON.parse(json) as Record<string, unknown>),
      ready: () => undefined,
    };
    const parts = { client, outbox, turns: { read }, lifetimeMs: 3_600_000, queuedBytes: 1_000 };
    new Connection({
      ...parts,
      principal: { tenant: 't' },
      current: (is: unknown) => is,
    } as unknown as ConnectionParts);
    for (const stream_id of ['a', undefined, 'a']) {
      client.emit('message', Buffer.from(JSON.stringify({ type: 'response.create', stream_id })), false);
    }
    await jest.advanceTimersByTimeAsync(0);
    expect(sent).toHaveLength(3);
    for (const frame of sent) {
      expect(frame).toMatchObject({
        type: 'error',
        status: 500,
        error: { code: 'server_error', param: null },
      });
      expect(JSON.stringify(frame)).not.toContain('secret');
    }
    expect(sent.map((frame) => frame['stream_id'] ?? null).sort()).toEqual(['a', 'a', null]);
    expect(client.close).not.toHaveBeenCalled();
    expect(client.terminate).not.toHaveBeenCalled();
  });
});
