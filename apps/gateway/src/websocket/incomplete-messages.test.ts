import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { IncompleteMessages } from './incomplete-messages.js';

const OPEN = 1;
const CLOSING = 2;

/** A client whose bytes and events are written by hand. */
class Client extends EventEmitter {
  readonly OPEN = OPEN;
  readyState = OPEN;
  readonly socket = new EventEmitter();
  readonly close = jest.fn<(code: number, reason: string) => void>(() => {
    this.readyState = CLOSING;
  });
  readonly terminate = jest.fn(() => this.emit('close'));

  constructor(messages: IncompleteMessages) {
    super();
    messages.watch(this as unknown as WebSocket, this.socket as unknown as Socket);
  }

  read(bytes: number): void {
    this.socket.emit('data', Buffer.alloc(bytes));
  }
}

let messages: IncompleteMessages;
const client = () => new Client(messages);

beforeEach(() => {
  jest.useFakeTimers();
  messages = new IncompleteMessages(1_000);
});
afterEach(() => {
  jest.useRealTimers();
});

describe('bytes of incomplete messages', () => {
  it('count until the message is whole, or the connection gone', () => {
    const [first, second] = [client(), client()];
    first.read(300);
    second.read(200);
    first.read(100);
    expect(messages.bytes).toBe(600);
    first.emit('message');
    expect(messages.bytes).toBe(200);
    second.emit('close');
    expect(messages.bytes).toBe(0);
    second.read(5);
    expect(messages.bytes).toBe(0);
  });

  it('are not those of pings and pongs, also within a message', () => {
    const one = client();
    one.read(6 + 4);
    one.emit('pong', Buffer.alloc(4));
    expect(messages.bytes).toBe(0);
    one.read(50);
    one.read(6);
    one.emit('ping', Buffer.alloc(0));
    expect(messages.bytes).toBe(50);
  });

  it('may not be too many over all connections: the oldest message is given up', () => {
    const clients = [client(), client(), client()] as const;
    for (const each of clients) each.read(300);
    clients[2].read(200);
    expect(clients[0].close).toHaveBeenCalledWith(1009, expect.stringContaining('incomplete'));
    expect(messages.bytes).toBe(800);
    clients[1].read(100);
    for (const each of clients.slice(1)) expect(each.close).not.toHaveBeenCalled();
  });

  it('are let go although the client does not close, and count no more when it goes on sending', () => {
    const one = client();
    one.read(1_001);
    one.read(900);
    expect(messages.bytes).toBe(0);
    expect(one.terminate).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1_000);
    expect(one.terminate).toHaveBeenCalledTimes(1);
  });
});

describe('a message', () => {
  it('that does not become whole in time ends its connection, and no other', () => {
    const [late, busy, idle] = [client(), client(), client()];
    late.read(1);
    idle.read(7);
    idle.emit('message');
    for (let seconds = 0; seconds < 300; seconds += 10) {
      late.read(1);
      busy.read(1);
      busy.emit('message');
      expect(late.close).not.toHaveBeenCalled();
      jest.advanceTimersByTime(10_000);
    }
    expect(late.close).toHaveBeenCalledWith(1008, 'a message has to arrive within 300 s');
    for (const each of [busy, idle]) expect(each.close).not.toHaveBeenCalled();
  });
});
