import { afterEach, describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import {
  llamaServerApi,
  sglangApi,
  tensorrtLlmApi,
  vllmApi,
  vllmGenerateApi,
} from '../testing/engine-apis.js';
import { sse } from '../testing/fake-engine.js';
import {
  answering,
  cleanUp,
  clientFor,
  codeOf,
  drain,
  idsOf,
  NEVER,
  REQUEST,
  setUpPlayed,
} from '../testing/harness.js';

afterEach(cleanUp);

const tokenizer = o200kHarmony();
const STOP = HARMONY.call;
const TEXT = [...tokenizer.encode('Bonjour, 세상'), STOP];
const ASKED = { ...REQUEST, tokenizer };
const llama = () => llamaServerApi(tokenizer, [STOP]);

/** Every kind of server, told by its own list of models. */
const APIS = [
  ['vllm /inference/v1/generate', () => vllmGenerateApi()],
  ['vllm /v1/completions', () => vllmApi()],
  ['sglang /generate', () => sglangApi()],
  ['sglang /generate', () => sglangApi({ incremental: true })],
  ['llama-server /completion', llama],
  ['tensorrt-llm /v1/completions', () => tensorrtLlmApi()],
] as const;

describe.each(APIS)('%s', (name, api) => {
  it('is told from the others, gives its ids once each, and says why it ended and what was cached', async () => {
    const { engine, client } = await setUpPlayed(api());
    expect((await client.capabilities()).api).toBe(name);
    engine.play({ ids: TEXT }, { ids: TEXT });
    for (const cached of [0, REQUEST.prompt.length]) {
      const { chunks, error } = await drain(client, ASKED);
      expect(error).toBeUndefined();
      expect(idsOf(chunks)).toEqual(TEXT);
      expect(chunks.findLast(({ finish }) => finish)?.finish).toBe('stop');
      expect(chunks.findLast(({ usage }) => usage)?.usage).toEqual({
        promptTokens: REQUEST.prompt.length,
        completionTokens: TEXT.length,
        cachedTokens: cached,
      });
    }
    expect(engine.calls.map(({ prompt }) => prompt)).toEqual([
      [1, 20, 300, 4, 5],
      [1, 20, 300, 4, 5],
    ]);
    expect(engine.aborts).toEqual([]);
  });

  it('ends with its limit, and with a cut', async () => {
    const { engine, client } = await setUpPlayed(api());
    engine.play({ ids: TEXT.slice(0, 2), finish: 'length' }, { ids: TEXT.slice(0, 2), finish: 'abort' });
    for (const finish of ['length', 'abort']) {
      const { chunks } = await drain(client, ASKED);
      expect([idsOf(chunks), chunks.findLast((chunk) => chunk.finish)?.finish]).toEqual([
        TEXT.slice(0, 2),
        finish,
      ]);
    }
  });

  it('D09: a stream that just stops is an error behind what came', async () => {
    const { engine, client } = await setUpPlayed(api());
    engine.play({ ids: TEXT.slice(0, 2), finish: null });
    const { chunks, error } = await drain(client, ASKED);
    expect([idsOf(chunks), codeOf(error)]).toEqual([TEXT.slice(0, 2), 'engine_error']);
  });

  it('D01: is told at once that nobody wants the rest', async () => {
    const { engine, client } = await setUpPlayed(api());
    const { abort } = await client.capabilities();
    engine.play({ ids: TEXT.slice(0, 2), hangs: true }, { ids: TEXT.slice(0, 2), hangs: true });
    const leaving = new AbortController();
    for await (const { ids } of client.generate(ASKED, NEVER)) if (ids.length > 0) break;
    const reading = (async () => {
      for await (const { ids } of client.generate(ASKED, leaving.signal)) if (ids.length > 0) leaving.abort();
    })();
    await expect(reading).rejects.toThrow('aborted');
    const told = () => engine.closed === 2 && engine.aborts.length === (abort ? 2 : 0);
    while (!told()) await new Promise((resolve) => setTimeout(resolve, 2));
    const [first] = engine.calls;
    const id = first?.body['rid'] ?? first?.body['request_id'];
    if (abort) expect(JSON.stringify(engine.aborts[0])).toContain(String(id));
  });

  it('can be made to keep to a schema', async () => {
    const { engine, client } = await setUpPlayed(api());
    engine.play({ ids: TEXT });
    expect((await client.capabilities()).grammars).toContain('json');
    await drain(client, { ...ASKED, json: { type: 'object', title: 'wanted' } });
    expect(JSON.stringify(engine.calls[0]?.body)).toContain('wanted');
  });
});

describe('vLLM', () => {
  it('with a last chunk that some versions leave out has ended as its ids say', async () => {
    const { engine, client } = await setUpPlayed(vllmGenerateApi({ keepsFinish: false }), 'vllm');
    const long = Array.from({ length: REQUEST.maxTokens }, () => 7);
    engine.play({ ids: TEXT }, { ids: long }, { ids: TEXT.slice(0, 3) });
    const ends = [];
    for (let turn = 0; turn < 3; turn++) {
      const { chunks, error } = await drain(client, ASKED);
      ends.push(chunks.findLast(({ finish }) => finish)?.finish ?? codeOf(error));
    }
    expect(ends).toEqual(['stop', 'length', 'engine_error']);
  });
});

describe('SGLang', () => {
  it.each([1, 2, 3, 100])('gives each id once in chunks of %i, whatever an event repeats', async (chunk) => {
    for (const incremental of [true, false]) {
      const { engine, client } = await setUpPlayed(sglangApi({ incremental, chunk }));
      engine.play({ ids: TEXT });
      expect(idsOf((await drain(client, ASKED)).chunks)).toEqual(TEXT);
    }
  });
});

describe('llama-server', () => {
  it.each(['ab🫠🫡c한i🫥', '🧑‍🚀', ' 🫠 🫠', '가나다라 😀😀', 'plain'])(
    'gives back the ids of %s that it never said',
    async (text) => {
      const { engine, client } = await setUpPlayed(llama());
      const ids = [...tokenizer.encode(text), STOP];
      engine.play({ ids });
      const { chunks } = await drain(client, ASKED);
      expect(tokenizer.decode(idsOf(chunks).slice(0, -1))).toBe(text);
      expect(idsOf(chunks)).toEqual(ids);
    },
  );

  it('gives back as many ids, and the text, where they were split in a way of their own', async () => {
    const { engine, client } = await setUpPlayed(llama());
    const bytes = [...Buffer.from('🫠')].map((byte) => byteId(byte));
    engine.play({ ids: [...bytes, STOP] });
    const { chunks } = await drain(client, ASKED);
    expect(idsOf(chunks)).toHaveLength(bytes.length + 1);
    expect(tokenizer.decode(idsOf(chunks))).toBe(`🫠${tokenizer.decode([STOP])}`);
  });

  it('counts what it lost at the end, inside of a character', async () => {
    const { engine, client } = await setUpPlayed(llama());
    const ids = [...tokenizer.encode('a'), ...tokenizer.encode('🫠').slice(0, 1)];
    engine.play({ ids, finish: 'length' });
    const { chunks } = await drain(client, ASKED);
    expect(idsOf(chunks)).toEqual(ids.slice(0, 1));
    expect(chunks.at(-1)).toMatchObject({ lost: 1, finish: 'length' });
  });

  it('has finished with a stop id, though it then fails at an output that is no text', async () => {
    const failure = sse({ error: { code: 500, message: 'The model produced output that does not match' } });
    for (const [id, end] of [
      [STOP, 'stop'],
      [7, 'engine_error'],
    ] as const) {
      const event = { content: '', tokens: [id], stop: false, tokens_predicted: 1 };
      const { engine } = await answering(sse(event) + failure);
      const { chunks, error } = await drain(clientFor(engine.url, { kind: 'llama-server' }), ASKED);
      expect([idsOf(chunks), codeOf(error) ?? chunks.at(-1)?.finish]).toEqual([[id], end]);
    }
  });

  it('is cut behind a stop id that its model file does not name', async () => {
    const { engine, client } = await setUpPlayed(llamaServerApi(tokenizer, []));
    const ids = [...tokenizer.encode('done'), STOP];
    engine.play({ ids: [...ids, 7, 7, 7], hangs: true });
    const { chunks, error } = await drain(client, ASKED);
    expect([idsOf(chunks), error]).toEqual([ids, undefined]);
    while (engine.closed === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  });
});

/** The token of one byte. */
function byteId(byte: number): number {
  for (let id = 0; id < 256; id++)
    if (tokenizer.bytes(id).length === 1 && tokenizer.bytes(id)[0] === byte) return id;
  throw new Error('o200k has a token for every byte');
}
