import { afterEach, describe, expect, it } from '@jest/globals';
import { begin, sse, tokens } from '../../testing/fake-engine.js';
import { NEVER, REQUEST, answering, cleanUp, clientFor, drain, idsOf, setUp } from '../../testing/harness.js';
import type { EngineChunk } from '../index.js';

afterEach(cleanUp);

describe('usage', () => {
  it.each([-5, 'abc', 1.5, 1e300, null, {}])('takes a count of %j as not reported', async (count) => {
    const usage = {
      prompt_tokens: count,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: count },
    };
    const { client } = await answering(sse(tokens([1, 2], 'stop'), { choices: [], usage }));
    const { chunks } = await drain(client);
    expect(chunks.findLast((chunk) => chunk.usage)?.usage).toEqual({ completionTokens: 2 });
  });
});

describe('the request', () => {
  it('is valid JSON with the settings, and the prompt joined from its pieces', async () => {
    const { engine, client } = await answering(sse(tokens([1], 'stop'), '[DONE]'));
    await drain(client, { ...REQUEST, cacheSalt: 'salt' });
    const [seen] = engine.requests;
    expect([seen?.method, seen?.path, seen?.headers['content-type']]).toEqual([
      'POST',
      '/v1/completions',
      'application/json',
    ]);
    expect(seen?.headers['content-length']).toBe(String(Buffer.byteLength(seen?.body ?? '')));
    expect(JSON.parse(seen?.body ?? '')).toEqual({
      model: 'openai/gpt-oss-20b',
      prompt: [1, 20, 300, 4, 5],
      max_tokens: 40,
      stop_token_ids: [200002, 200012],
      temperature: 0.5,
      top_p: 0.9,
      cache_salt: 'salt',
      stream: true,
      stream_options: { include_usage: true },
      return_token_ids: true,
      skip_special_tokens: false,
      add_special_tokens: false,
    });
  });

  it('carries images beside the ids, where the server is said to take them', async () => {
    const { engine, client } = await answering(sse(tokens([1], 'stop'), '[DONE]'));
    expect(client.takesImages).toBe(false);
    const seeing = clientFor(engine.url, { images: 'content_parts' });
    expect(seeing.takesImages).toBe(true);
    const details = ['low', undefined] as const;
    const urls = [`data:image/png;base64,${'A'.repeat(40_000)}`, 'data:image/gif;base64,R0lGOD=='];
    await drain(seeing, {
      ...REQUEST,
      prompt: {
        ...REQUEST.prompt,
        images: urls.map((url, index) => ({ url: Buffer.from(url), detail: details[index] })),
      },
    });
    await drain(seeing, { ...REQUEST, prompt: { ...REQUEST.prompt, images: [] } });
    const [withImages, without] = engine.requests.map(({ body }) => JSON.parse(body) as object);
    expect(withImages).toMatchObject({
      prompt: [1, 20, 300, 4, 5],
      content_parts: [
        { type: 'image_url', url: urls[0], detail: 'low' },
        { type: 'image_url', url: urls[1] },
      ],
    });
    expect(engine.requests[0]?.headers['content-length']).toBe(
      String(Buffer.byteLength(engine.requests[0]?.body ?? '')),
    );
    expect(without).not.toHaveProperty('content_parts');
  });

  it('binds the output to a schema, unless that is switched off', async () => {
    const { engine, client } = await answering(sse(tokens([1], 'stop'), '[DONE]'));
    expect((await client.capabilities()).grammars).toContain('json');
    const unbound = clientFor(engine.url, { structuredOutputs: false });
    expect((await unbound.capabilities()).grammars).toEqual([]);
    await drain(client, { ...REQUEST, json: { type: 'object' } });
    expect(JSON.parse(engine.requests[0]?.body ?? '')).toMatchObject({
      structured_outputs: { json: { type: 'object' } },
    });
  });

  it('takes a prompt of large and small pieces', async () => {
    const ids = Array.from({ length: 60_000 }, (_, index) => index);
    const text = JSON.stringify(ids);
    const json = [0, 1, 100_000, 100_007, 250_000].map((from, index, all) =>
      Buffer.from(text.slice(from, all[index + 1])),
    );
    const { engine, client } = await answering(sse(tokens([1], 'stop')));
    const { error } = await drain(client, { ...REQUEST, prompt: { length: ids.length, json } });
    expect(error).toBeUndefined();
    expect((JSON.parse(engine.requests[0]?.body ?? '') as { prompt: number[] }).prompt).toEqual(ids);
  });

  it('names no salt where there is none, and takes a base URL with a slash', async () => {
    const { engine } = await answering(sse(tokens([1], 'stop')));
    await drain(clientFor(`${engine.url}/`));
    expect(engine.requests[0]?.path).toBe('/v1/completions');
    expect(engine.requests[0]?.body).not.toContain('cache_salt');
  });

  it('keeps its connections for the requests that follow', async () => {
    const sockets = new Set<unknown>();
    const { client } = await setUp(({ response }) => {
      sockets.add(response.socket);
      begin(response);
      response.end(sse(tokens([1], 'stop')));
    });
    for (let turn = 0; turn < 10; turn++) await drain(client);
    // An answer is read a moment before its connection counts as free, so there may be two.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });
});

describe('the answer', () => {
  it('is one chunk per read, with the ids in order and the finish reason and usage beside them', async () => {
    const usage = {
      prompt_tokens: 5,
      completion_tokens: 4,
      total_tokens: 9,
      prompt_tokens_details: { cached_tokens: 2 },
    };
    const { client } = await answering(
      sse(tokens([1]), tokens([2, 3]), tokens([4], 'stop'), { choices: [], usage }, '[DONE]'),
    );
    const { chunks, error } = await drain(client);
    expect(error).toBeUndefined();
    expect(chunks).toEqual([
      { ids: [1, 2, 3, 4], finish: 'stop', usage: { promptTokens: 5, completionTokens: 4, cachedTokens: 2 } },
    ]);
  });

  it('gives each read as soon as it is there', async () => {
    let next: () => void = () => undefined;
    const { client } = await setUp(async ({ response }) => {
      begin(response);
      for (const event of [tokens([1]), tokens([2]), tokens([3], 'length')]) {
        response.write(sse(event));
        await new Promise<void>((resolve) => (next = resolve));
      }
      response.end();
    });
    const chunks: EngineChunk[] = [];
    for await (const chunk of client.generate(REQUEST, NEVER)) {
      chunks.push(chunk);
      next();
    }
    expect(chunks.map(({ ids, finish }) => [ids, finish])).toEqual([
      [[1], undefined],
      [[2], undefined],
      [[3], 'length'],
    ]);
  });

  it('may cut events anywhere', async () => {
    const text = sse(tokens([1]), tokens([2], 'stop'), '[DONE]');
    const { client } = await setUp(async ({ response }) => {
      begin(response);
      for (const byte of Buffer.from(text)) {
        response.write(Buffer.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const { chunks, error } = await drain(client);
    expect([idsOf(chunks), error]).toEqual([[1, 2], undefined]);
  });

  it('does not parse the echo of the prompt', async () => {
    // A real echo is a list of numbers; this one would be an error if anyone looked into it.
    const echo = JSON.stringify(tokens([7])).replace(
      '"token_ids"',
      '"prompt_token_ids":[1,2,oops,3],"token_ids"',
    );
    const { client } = await answering(sse(echo, tokens([8], 'stop')));
    expect(idsOf((await drain(client)).chunks)).toEqual([7, 8]);
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['abort', 'abort'],
    ['error', 'abort'],
    ['repetition', 'abort'],
  ])('that ends with %s ended by %s', async (reason, finish) => {
    const { client } = await answering(sse(tokens([1], reason)));
    expect((await drain(client)).chunks).toEqual([{ ids: [1], finish, usage: undefined }]);
  });

  it.each([
    [{ prompt_tokens: 10, completion_tokens: null, prompt_tokens_details: null }, { promptTokens: 10 }],
    [{ prompt_tokens_details: { cached_tokens: null } }, {}],
    [{ completion_tokens: 3, prompt_tokens_details: {} }, { completionTokens: 3 }],
    [
      { prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } },
      { promptTokens: 0, completionTokens: 0, cachedTokens: 0 },
    ],
  ])('with usage %j leaves open what is not there', async (usage, expected) => {
    const { client } = await answering(sse(tokens([1], 'stop'), { choices: [], usage }));
    expect((await drain(client)).chunks.at(-1)?.usage).toEqual({
      promptTokens: undefined,
      completionTokens: undefined,
      cachedTokens: undefined,
      ...expected,
    });
  });

  it('passes over events that say nothing', async () => {
    const silent = [
      ': ping\n\n',
      sse({}, { choices: [] }, { choices: null, usage: null }, { choices: [{ token_ids: null }] }),
    ];
    const { client } = await answering(...silent, sse(tokens([1], 'stop')));
    expect(await drain(client)).toEqual({
      chunks: [{ ids: [1], finish: 'stop', usage: undefined }],
      error: undefined,
    });
  });

  it('that has finished stays finished when its connection breaks', async () => {
    const { client } = await setUp(({ response }) => {
      begin(response);
      response.write(sse(tokens([1], 'stop')), () => response.destroy());
    });
    const { chunks, error } = await drain(client);
    expect([idsOf(chunks), error]).toEqual([[1], undefined]);
  });
});
