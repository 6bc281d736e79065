import { afterEach, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { EventFrame } from '@turnpike/protocol';
import { WebSocket, WebSocketServer } from 'ws';
import { Outbox } from './outbox.js';

let server: Server;
let client: WebSocket;

afterEach(async () => {
  client.terminate();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** An outbox on a real connection, and how often the socket below has been written to. */
async function connect() {
  server = createServer();
  const wss = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [request, socket, head] = (await once(server, 'upgrade')) as [IncomingMessage, Socket, Buffer];
  const peer = await new Promise<WebSocket>((resolve) => wss.handleUpgrade(request, socket, head, resolve));
  await once(client, 'open');
  let writes = 0;
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => {
    writes++;
    write(chunk, encoding, done);
  };
  socket._writev = (chunks, done) => {
    writes++;
    writev?.(chunks, done);
  };
  const limits = { sendBufferBytes: 100_000, sendTimeoutMs: 60_000 };
  return { outbox: new Outbox(peer, socket, limits), socket, writes: () => writes };
}

const frames = (count: number, length = 50): EventFrame[] =>
  Array.from({ length: count }, () => ({ type: 'response.output_text.delta', json: 'x'.repeat(length) }));

it('sends a batch as one write of whole messages', async () => {
  const { outbox, writes } = await connect();
  const received: string[] = [];
  const all = new Promise<void>((resolve) => {
    client.on('message', (data: Buffer) => {
      received.push(data.toString());
      if (received.length === 9) resolve();
    });
  });
  outbox.send(frames(8));
  outbox.send(frames(1));
  await all;
  expect(writes()).toBe(2);
  expect(new Set(received)).toEqual(new Set(['x'.repeat(50)]));
});

it('waits for a reader that has stopped, and goes on when it reads again', async () => {
  const { outbox, socket } = await connect();
  client.pause();
  let ready: Promise<void> | undefined;
  for (let batch = 0; batch < 1_000 && ready === undefined; batch++) {
    outbox.send(frames(8, 10_000));
    ready = outbox.ready();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(ready).toBeDefined();
  expect(socket.writableLength).toBeLessThan(300_000);
  client.resume();
  await ready;
  expect(outbox.ready()).toBeUndefined();
});
