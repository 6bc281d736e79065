import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect as connectTcp } from 'node:net';
import {
  begin,
  FakeEngine,
  sse,
  tokens,
  type SeenRequest,
} from '../../libs/inference/testing/fake-engine.js';
import { startGateway } from '../e2e/platform.js';
import { SocketClient, type WireEvent } from '../e2e/socket-client.js';
import { connect, postJson } from '../conformance/transports.js';
import { terminal } from '../conformance/stream-rules.js';
import { idsOf } from './scripted-engine.js';

/** Reported failures between servers and engines, each by its number. */
let answer: (seen: SeenRequest) => void | Promise<void> = () => undefined;
let engine: FakeEngine;
let gateway: Awaited<ReturnType<typeof startGateway>>;

beforeAll(async () => {
  engine = await FakeEngine.start((seen) => answer(seen));
  gateway = await startGateway(engine.url, [
    'limits: { sendBufferBytes: 65536, sendTimeoutMs: 300 }',
    'store: { kind: memory }',
  ]);
});
afterAll(async () => {
  await gateway.stop();
  gateway.cleanUp();
  await engine.stop();
});

describe('D10: an error object inside a 200', () => {
  const OVERFLOW = 'the request exceeds the available context size';
  it.each<[string, readonly unknown[] | string, string, number]>([
    [
      'a timeout',
      [{ error: { message: 'TimeoutError', type: 'GatewayTimeout', code: 504 } }, '[DONE]'],
      'server_error',
      502,
    ],
    [
      'a worker',
      [{ choices: [], error: { code: 502, message: 'limit reached (33/32)' } }, '[DONE]'],
      'server_error',
      502,
    ],
    ['no stream', '{"object":"error","message":"…","code":400}', 'server_error', 502],
    [
      'a prompt that is too long',
      [{ error: { message: OVERFLOW, code: 400 } }],
      'context_length_exceeded',
      400,
    ],
  ])('of %s', async (_, said, code, status) => {
    answer = ({ response }) => {
      if (typeof said === 'string') response.writeHead(200, { 'content-type': 'application/json' }).end(said);
      else {
        begin(response);
        response.end(sse(...said));
      }
    };
    for (const transport of ['websocket', 'http'] as const) {
      const client = await connect(transport, gateway);
      const events = await client.create({ input: 'x' });
      expect(events.filter(({ type }) => type === 'response.failed')).toHaveLength(1);
      expect(terminal(events).response.error).toMatchObject({ code });
      client.close();
    }
    // Without a stream nothing has been sent yet, so the status says it.
    expect((await postJson(gateway.url, { input: 'x' })).status).toBe(status);
  });
});

describe('D07: a client that never reads', () => {
  /** An engine that writes for as long as anybody reads, and says what it wrote when its request is ended. */
  function endless() {
    let written = 0;
    const piece = idsOf('word '.repeat(2_000));
    let ended: () => void = () => undefined;
    const end = new Promise<void>((resolve) => (ended = resolve));
    answer = async ({ response, aborted }) => {
      void aborted.then(ended);
      begin(response);
      response.write(sse(tokens(idsOf('<|channel|>final<|message|>'))));
      while (!response.destroyed) {
        const event = sse(tokens(piece));
        written += event.length;
        if (response.write(event)) await new Promise((resolve) => setImmediate(resolve));
        else await Promise.race([new Promise((resolve) => response.once('drain', resolve)), end]);
      }
    };
    return { end, written: () => written };
  }

  /** Buffers of two connections of this machine, and what is in the making. */
  const MOST = 64 * 1024 * 1024;

  it.each<[string, (url: string) => Promise<{ leave: () => void }>]>([
    [
      'over WebSocket',
      async (url) => {
        const client = await SocketClient.connect(url);
        client.send({ type: 'response.create', model: 'sim', input: 'x', max_output_tokens: 900_000 });
        client.socket.pause();
        return { leave: () => client.socket.terminate() };
      },
    ],
    [
      'over HTTP',
      (url) => {
        const { hostname, port } = new URL(url);
        const body = JSON.stringify({ model: 'sim', input: 'x', stream: true, max_output_tokens: 900_000 });
        const socket = connectTcp(Number(port), hostname);
        socket.on('error', () => undefined);
        socket.pause();
        socket.write(
          `POST /v1/responses HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        return Promise.resolve({ leave: () => socket.destroy() });
      },
    ],
  ])('%s slows its engine, is cut off, and takes nothing from others', async (_, open) => {
    const { end, written } = endless();
    const { leave } = await open(gateway.url);
    await end;
    expect(written()).toBeLessThan(MOST);
    leave();
    const other = await SocketClient.connect(gateway.url);
    const events: WireEvent[] = await other.create({ generate: false, input: 'x' });
    expect(events.at(-1)?.type).toBe('response.completed');
    other.close();
  });
});
