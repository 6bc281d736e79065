import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { begin, sse, tokens } from '../testing/fake-engine.js';
import { answering, cleanUp, clientFor, codeOf, drain, onCleanUp, setUp } from '../testing/harness.js';

afterEach(cleanUp);

const models = (owner: unknown) => ({ object: 'list', data: [{ id: 'm', owned_by: owner }] });

describe('what a server is', () => {
  it.each([
    ['vllm', 'vllm /v1/completions'],
    ['turnpike', 'vllm /v1/completions'],
    ['sglang', 'sglang /generate'],
    ['llamacpp', 'llama-server /completion'],
    ['tensorrt_llm', 'tensorrt-llm /v1/completions'],
  ])('of %s is told by who owns its models', async (owner, api) => {
    const { engine } = await answering();
    engine.pages.set('/v1/models', models(owner));
    const apis: string[] = [];
    const client = clientFor(engine.url, { kind: 'auto', onApi: (found) => apis.push(found) });
    expect((await client.capabilities()).api).toBe(api);
    await client.capabilities();
    expect(apis).toEqual([api]);
  });

  it.each([
    ['another owner', models('library')],
    ['a name that objects have', models('constructor')],
    ['no owner', models(7)],
    ['no models', { data: [] }],
    ['no list', 'text'],
    ['no such page', 404],
  ])('with %s is none that takes token ids', async (_, page) => {
    const { engine } = await answering();
    engine.pages.set('/v1/models', page);
    const client = clientFor(engine.url, { kind: 'auto' });
    await expect(client.capabilities()).rejects.toMatchObject({ code: 'engine_error' });
    // Asked again each time: it may have been starting.
    engine.pages.set('/v1/models', models('sglang'));
    expect((await client.capabilities()).api).toBe('sglang /generate');
  });

  it.each([
    [401, 'engine_error', 'status 401: it wants a key, or another one (apiKeyEnv)'],
    [403, 'engine_error', 'status 403: it wants a key'],
    [404, 'engine_error', 'status 404: its url or'],
    [400, 'engine_error', 'status 400'],
    [503, 'server_is_overloaded', 'status 503'],
  ])('cannot be told where the list is refused with %i, and the log says why', async (page, code, why) => {
    const { engine } = await answering();
    engine.pages.set('/v1/models', page);
    const client = clientFor(engine.url, { kind: 'auto' });
    await expect(client.capabilities()).rejects.toMatchObject({
      code,
      cause: { message: expect.stringContaining(why) },
    });
  });

  it('is asked once, not by each request, and again when the server has changed', async () => {
    let generate = true;
    let answered = 0;
    const { engine, client } = await setUp(({ response, path }) => {
      if (path === '/inference/v1/generate' && !generate) {
        response.writeHead(404).end();
        return;
      }
      answered++;
      begin(response);
      response.end(sse(tokens([1], 'stop')));
    });
    engine.pages.set('/inference/v1/generate', 405);
    await Promise.all([drain(client), drain(client), drain(client)]);
    engine.pages.delete('/inference/v1/generate');
    await drain(client);
    expect(engine.requests.map(({ path }) => path)).toEqual(Array(4).fill('/inference/v1/generate'));
    generate = false;
    expect(codeOf((await drain(client)).error)).toBe('engine_error');
    expect((await drain(client)).error).toBeUndefined();
    expect([engine.requests.at(-1)?.path, answered]).toEqual(['/v1/completions', 5]);
  });
});

describe('a server that does not say what it is', () => {
  it.each<[string, (leave: () => void) => unknown]>([
    ['while it is waited for', (leave) => setTimeout(leave, 20)],
    ['before', (leave) => leave()],
  ])('is not waited for by a client that has left %s', async (_, when) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    onCleanUp(async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = clientFor(`http://127.0.0.1:${port}`, { kind: 'auto' });
    const controller = new AbortController();
    when(() => controller.abort(new Error('left')));
    await expect(client.capabilities(controller.signal)).rejects.toThrow('left');
  });
});

describe('every request', () => {
  it('carries the key and the headers, and no error shows them', async () => {
    const { engine } = await setUp(({ response }) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"sk-secret"}');
    });
    const client = clientFor(engine.url, { apiKey: 'sk-secret', headers: { 'X-Team': 'a' } });
    const { error } = await drain(client);
    expect(engine.requests[0]?.headers).toMatchObject({ authorization: 'Bearer sk-secret', 'x-team': 'a' });
    expect(JSON.stringify([error, (error as Error).message, String((error as Error).cause)])).not.toContain(
      'secret',
    );
  });
});
