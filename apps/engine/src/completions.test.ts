import { request as httpRequest } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import { EngineClient, readAnswer } from '../testing/client.js';
import { PromptBuilder, WEATHER_TOOL } from '../testing/conversation.js';
import { ManualScheduler } from '../testing/manual-scheduler.js';
import type { WrittenAnswer } from './generation/write-log.js';

const hello = (text = 'Hello there', effort = 'low') => new PromptBuilder({ effort }).user(text).generation();

describe('POST /v1/completions', () => {
  let engine: EngineClient;
  beforeAll(async () => {
    engine = await EngineClient.start({ context: 50_000 });
  });
  afterAll(() => engine.close());

  it('streams chunks in the shape of vLLM', async () => {
    const prompt = hello();
    const answer = await engine.stream(prompt);
    const [first] = answer.chunks;
    expect(first).toMatchObject({ object: 'text_completion', model: 'sim' });
    expect(first?.choices?.[0]?.prompt_token_ids).toEqual(prompt);
    expect(answer.chunks.filter((chunk) => chunk.choices?.[0]?.prompt_token_ids)).toHaveLength(1);
    expect(answer.ids.at(-1)).toBe(HARMONY.return);
    expect(answer.finishReason).toBe('stop');
    expect(answer.stopReason).toBe(HARMONY.return);
    expect(answer.text).toBe(o200kHarmony().decode(answer.ids.slice(0, -1)));
    expect(answer.chunks.at(-1)?.choices).toEqual([]);
    expect(answer.usage).toEqual({
      prompt_tokens: prompt.length,
      completion_tokens: answer.ids.length,
      total_tokens: prompt.length + answer.ids.length,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    expect(answer.done).toBe(true);
  });

  it('knows how many bytes of the connection hold how many tokens', async () => {
    const { ids } = await engine.stream(hello('Bytes'));
    const written = (await (await fetch(`${engine.url}/debug/writes`)).json()) as WrittenAnswer[];
    const { bytes, port, writes } = written.at(-1) ?? { bytes: 0, port: 0, writes: [] };
    expect(port).toBeGreaterThan(0);
    expect(writes.at(-1)?.[1]).toBe(ids.length);
    expect(writes.at(-1)?.[0]).toBeLessThanOrEqual(bytes);
    for (const [index, [end, tokens]] of writes.entries()) {
      const [before = 0, fewer = 0] = writes[index - 1] ?? [];
      expect(end).toBeGreaterThan(before);
      expect(tokens).toBeGreaterThan(fewer);
    }
  });

  it('leaves out what was not asked for', async () => {
    const answer = readAnswer(
      await (await engine.post({ prompt: hello('Plain'), max_tokens: 99, stream: true })).text(),
    );
    expect(answer.ids).toEqual([]);
    expect(answer.usage).toBeUndefined();
    expect(answer.text).toBe('finalYou said: "Plain". (message 1, 0 tool outputs)');
    expect(answer.chunks[0]?.choices?.[0]).not.toHaveProperty('prompt_token_ids');
  });

  it('does not repeat a long prompt', async () => {
    const answer = await engine.stream(hello('long '.repeat(4200)));
    expect(answer.chunks[0]?.choices?.[0]).not.toHaveProperty('prompt_token_ids');
  });

  it('answers in one body without stream', async () => {
    const prompt = hello('One body');
    const response = await engine.post({ prompt, max_tokens: 999, return_token_ids: true });
    const body = (await response.json()) as { choices: { token_ids: number[] }[]; usage: object };
    const streamed = await engine.stream(prompt);
    expect(body).toMatchObject({
      object: 'text_completion',
      choices: [{ finish_reason: 'stop', stop_reason: HARMONY.return, token_ids: streamed.ids }],
      usage: { completion_tokens: streamed.ids.length },
    });
  });

  it('stops at 16 tokens by default, and at any stop token of the request', async () => {
    const prompt = hello('Stop');
    const short = await engine.stream(prompt, { max_tokens: null });
    expect([short.ids.length, short.finishReason, short.stopReason]).toEqual([16, 'length', null]);
    const stopped = await engine.stream(prompt, { stop_token_ids: [HARMONY.message] });
    expect([stopped.ids.at(-1), stopped.finishReason, stopped.stopReason]).toEqual([
      HARMONY.message,
      'stop',
      HARMONY.message,
    ]);
  });

  it('takes text from people, as a user message or as a whole prompt', async () => {
    const ask = async (prompt: string) => {
      const response = await engine.post({ prompt, max_tokens: 999 });
      return ((await response.json()) as { choices: { text: string }[] }).choices[0]?.text;
    };
    expect(await ask('Hi from curl [sim reason=0]')).toContain('You said: "Hi from curl". (message 1,');
    const whole =
      '<|start|>user<|message|>one<|end|><|start|>user<|message|>two<|end|><|start|>assistant<|channel|>final<|message|>';
    expect(await ask(whole)).toBe('You said: "two". (message 2, 0 tool outputs)');
  });

  it.each([
    ['no JSON', '{"prompt":', 400, 'JSON'],
    ['no prompt', '{}', 400, 'prompt'],
    ['an empty prompt', '{"prompt":[]}', 400, 'prompt'],
    ['an id that does not exist', '{"prompt":[1,201088]}', 400, 'prompt[1]'],
    ['a negative id', '{"prompt":[-1]}', 400, 'prompt[0]'],
    ['several prompts', '{"prompt":[[1],[2]]}', 400, 'prompt[0]'],
    ['a bad limit', '{"prompt":[1],"max_tokens":0}', 400, 'max_tokens'],
    ['a bad type', '{"prompt":[1],"stream":"yes"}', 400, 'stream'],
    [
      'too many tokens asked for',
      '{"prompt":[1],"max_tokens":50000}',
      400,
      'maximum context length is 50000 tokens. However, you requested 50001',
    ],
    ['another model', '{"prompt":[1],"model":"gpt-5"}', 404, 'gpt-5'],
  ])('refuses %s', async (_name, body, status, named) => {
    const response = await engine.post(body);
    expect(response.status).toBe(status);
    const { error } = (await response.json()) as { error: { message: string; type: string; code: number } };
    expect(error.message).toContain(named);
    expect(error.code).toBe(status);
    expect(error.type).toBe(status === 404 ? 'NotFoundError' : 'BadRequestError');
  });

  it('refuses a prompt that does not fit', async () => {
    const response = await engine.post({ prompt: new Array<number>(50_000).fill(1) });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("This model's maximum context length is 50000 tokens");
  });

  it('refuses a body that is too large before it has been sent', async () => {
    const status = await new Promise((resolve, reject) => {
      const request = httpRequest(`${engine.url}/v1/completions`, {
        method: 'POST',
        headers: { 'content-length': String(65 * 1024 * 1024) },
      });
      request.on('response', (response) => resolve(response.statusCode)).on('error', reject);
      request.write('{');
    });
    expect(status).toBe(413);
  });

  it('describes itself', async () => {
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
    const models = (await (await fetch(`${engine.url}/v1/models`)).json()) as { data: object[] };
    expect(models.data).toEqual([
      expect.objectContaining({ id: 'sim', object: 'model', max_model_len: 50_000 }),
    ]);
  });
});

describe('the prefix cache behind it', () => {
  let engine: EngineClient;
  beforeAll(async () => {
    engine = await EngineClient.start();
  });
  afterAll(() => engine.close());

  it('holds prompt and output, the stop token included, and parses only what is new', async () => {
    const first = new PromptBuilder({ effort: 'low', tools: [WEATHER_TOOL] }).user('Weather in Paris?');
    const prompt = first.generation();
    const call = await engine.stream(prompt);
    expect(call.ids.at(-1)).toBe(HARMONY.call);
    const next = [...prompt, ...call.ids, ...new PromptBuilder().output('get_weather', 'Sunny').generation()];
    const parsed = (await engine.state()).ids_parsed;
    const answer = await engine.stream(next);
    expect(answer.usage?.prompt_tokens_details.cached_tokens).toBe(prompt.length + call.ids.length);
    const state = await engine.state();
    expect(state.ids_parsed - parsed).toBe(next.length - prompt.length - call.ids.length);
    expect(state.slow_bodies).toBe(0);
    expect(state.last).toMatchObject({
      prompt_tokens: next.length,
      completion_tokens: answer.ids.length,
      aborted: false,
    });
  });
});

describe('pace', () => {
  const scheduler = new ManualScheduler();
  let engine: EngineClient;
  beforeAll(async () => {
    engine = await EngineClient.start({ tps: 100, ttftMs: 20, prefillUsPerToken: 1000 }, scheduler);
  });
  afterEach(() => scheduler.pass(1e6));
  afterAll(() => engine.close());

  it('waits for prefill of what is not cached, then gives tokens at the stated speed', async () => {
    const prompt = hello('Pace [sim limit=1]');
    const answering = engine.stream(prompt, { max_tokens: 10 });
    await engine.until((state) => state.running === 1);
    scheduler.pass(20 + prompt.length - 1);
    expect((await engine.state()).last.completion_tokens).toBe(0);
    scheduler.pass(1);
    expect((await engine.state()).last.completion_tokens).toBe(1);
    scheduler.pass(39);
    expect((await engine.state()).last.completion_tokens).toBe(4);
    scheduler.leap(1000);
    const answer = await answering;
    expect(
      answer.chunks.flatMap((chunk) => chunk.choices ?? []).map((choice) => choice.token_ids?.length),
    ).toEqual([1, 1, 1, 1, 6]);

    const again = engine.stream(prompt, { max_tokens: 1 });
    await engine.until((state) => state.running === 1);
    scheduler.pass(20);
    expect((await again).usage?.prompt_tokens_details.cached_tokens).toBe(prompt.length);
  });

  it('stops in the tick in which the connection closes, and bills what was generated', async () => {
    for (const stream of [true, false]) {
      const before = await engine.state();
      const leaving = new AbortController();
      const answering = engine.post(
        { prompt: hello('Leave [sim limit=1]'), max_tokens: 1000, stream },
        leaving.signal,
      );
      const gone = answering.then((response) => response.text()).catch(() => 'gone');
      await engine.until((state) => state.running === 1);
      scheduler.pass(5000);
      const generated = (await engine.state()).last.completion_tokens;
      expect(generated).toBeGreaterThan(0);
      leaving.abort();
      expect(await gone).toBe('gone');
      const state = await engine.until(({ running }) => running === 0);
      expect(scheduler.idle).toBe(true);
      scheduler.pass(5000);
      expect(state.aborted).toBe(before.aborted + 1);
      expect(state.last).toMatchObject({ completion_tokens: generated, aborted: true });
    }
  });
});
