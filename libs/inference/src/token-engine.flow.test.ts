import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { begin, sse, tokens } from '../testing/fake-engine.js';
import { NEVER, REQUEST, cleanUp, clientFor, drain, onCleanUp, setUp } from '../testing/harness.js';

afterEach(cleanUp);

describe('the end by the client', () => {
  /** An engine that sends one token and then works on without end. */
  function endless() {
    return setUp(({ response }) => {
      begin(response);
      response.write(sse(tokens([1])));
    });
  }

  it('by the signal closes the request at the engine', async () => {
    const { engine, client } = await endless();
    const controller = new AbortController();
    const reason = new Error('the client left');
    const received: number[] = [];
    const reading = (async () => {
      for await (const { ids } of client.generate(REQUEST, controller.signal)) {
        received.push(...ids);
        controller.abort(reason);
      }
    })();
    await expect(reading).rejects.toBe(reason);
    await engine.requests[0]?.aborted;
    expect(received).toEqual([1]);
  });

  it('by the signal ends the wait for the first byte', async () => {
    const controller = new AbortController();
    const { engine, client } = await setUp(() => controller.abort());
    const { error } = await drain(client, REQUEST, controller.signal);
    expect((error as Error).name).toBe('AbortError');
    await engine.requests[0]?.aborted;
  });

  it('while the server is asked what it is ends that wait, and nothing is sent behind it', async () => {
    const asked: (string | undefined)[] = [];
    const leaving = new AbortController();
    const reason = new Error('the client left');
    let answer: () => void = () => undefined;
    const server = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      answer = () => response.end('{"data":[{"id":"m","owned_by":"sglang"}]}');
      leaving.abort(reason);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onCleanUp(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const client = clientFor(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { kind: 'auto' });
    expect((await drain(client, REQUEST, leaving.signal)).error).toBe(reason);
    answer();
    // What was learnt is of use to the next one.
    expect((await client.capabilities()).api).toBe('sglang /generate');
    expect(asked).toEqual(['GET /v1/models']);
  });

  it('before it has begun sends nothing', async () => {
    const { engine, client } = await endless();
    const { error } = await drain(client, REQUEST, AbortSignal.abort());
    expect((error as Error).name).toBe('AbortError');
    expect(engine.requests).toEqual([]);
  });

  it('by leaving the loop closes the request at the engine', async () => {
    const { engine, client } = await endless();
    for await (const { ids } of client.generate(REQUEST, NEVER)) {
      expect(ids).toEqual([1]);
      break;
    }
    await engine.requests[0]?.aborted;
  });
});

describe('D07: a slow consumer', () => {
  it('stops the engine after what the buffers on the way hold', async () => {
    const event = sse(tokens(Array.from({ length: 20_000 }, () => 7)));
    const LIMIT = 256 * 1024 * 1024;
    let written = 0;
    let full: () => void = () => undefined;
    const blocked = new Promise<void>((resolve) => (full = resolve));
    const { client } = await setUp(async ({ response }) => {
      begin(response);
      while (written < LIMIT && !response.destroyed) {
        written += event.length;
        if (response.write(event)) continue;
        // Blocked for good once the kernel's buffers are full as well: nothing moves over many turns of the loop.
        const drained = new Promise<boolean>((resolve) => response.once('drain', () => resolve(true)));
        const still = (async () => {
          for (let turn = 0; turn < 2_000; turn++) await new Promise((resolve) => setImmediate(resolve));
          return false;
        })();
        if (!(await Promise.race([drained, still]))) break;
      }
      full();
    });
    for await (const chunk of client.generate(REQUEST, NEVER)) {
      expect(chunk.ids.length).toBeGreaterThan(0);
      await blocked;
      break;
    }
    expect(written).toBeLessThan(LIMIT / 8);
  });
});
