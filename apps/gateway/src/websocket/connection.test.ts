import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
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
