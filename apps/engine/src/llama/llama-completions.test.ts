import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type EngineClient } from '../../testing/client.js';
import { counting, EOG, FakeLlama, startFakeLlama } from '../../testing/fake-llama.js';
import { type GgufSettings } from '../settings.js';
import { PREFILL_TOKENS } from './llama-generation.js';
import { sequenceCopy } from './sequence-copy.js';

let engine: EngineClient | undefined;
afterEach(() => engine?.close());

async function start(llama: FakeLlama, settings: Partial<GgufSettings> = {}): Promise<EngineClient> {
  return (engine = await startFakeLlama(llama, settings));
}

const canCopy = sequenceCopy() !== undefined;
/** Never ends by itself: byte tokens over and over. */
const endless = () => 300;
const cachedOf = (answer: Awaited<ReturnType<EngineClient['stream']>>) =>
  answer.usage?.prompt_tokens_details.cached_tokens;

/** Evaluations wait for the test. */
function stepwise(llama: FakeLlama): { step: () => void; waiting: () => number } {
  const waiting: (() => void)[] = [];
  llama.beforeEvaluation = () => new Promise((resolve) => waiting.push(resolve));
  return { step: () => waiting.shift()?.(), waiting: () => waiting.length };
}

async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a model from a file, over HTTP', () => {
  it('gives out the end token as an id, outside of the text', async () => {
    const client = await start(new FakeLlama());
    const answer = await client.stream([316, 317]);
    expect(answer.ids).toEqual([318, 319, EOG]);
    expect(answer.text).toBe('>?');
    expect([answer.finishReason, answer.stopReason, answer.done]).toEqual(['stop', null, true]);
    expect(answer.chunks[0]?.choices?.[0]?.prompt_token_ids).toEqual([316, 317]);
    expect(answer.usage).toEqual({
      prompt_tokens: 2,
      completion_tokens: 3,
      total_tokens: 5,
      prompt_tokens_details: { cached_tokens: 0 },
    });
  });

  it('stops at the stop ids of the request, and at max_tokens', async () => {
    const client = await start(new FakeLlama());
    const stopped = await client.stream([310], { stop_token_ids: [400, 313] });
    expect([stopped.ids, stopped.finishReason, stopped.stopReason]).toEqual([[311, 312, 313], 'stop', 313]);
    expect(stopped.text).toBe('78');
    const cut = await client.stream([310], { max_tokens: 2 });
    expect([cut.ids, cut.finishReason, cut.stopReason]).toEqual([[311, 312], 'length', null]);
  });

  it('answers in one body without stream, and takes text', async () => {
    const client = await start(new FakeLlama());
    const response = await client.post({ prompt: '<', max_tokens: 9, return_token_ids: true });
    expect(await response.json()).toMatchObject({
      model: 'fake',
      choices: [{ text: '=>?', token_ids: [317, 318, 319, EOG], prompt_token_ids: [1, 316] }],
      usage: { prompt_tokens: 2, completion_tokens: 4 },
    });
  });

  it('finds the whole prompt and output before it in each turn of a chain, and in a fork of it', async () => {
    const llama = new FakeLlama();
    const client = await start(llama);
    let prompt = [311, 312, 313, 314, 315];
    const turns: number[][] = [];
    for (let turn = 0; turn < 5; turn++) {
      const before = turn === 0 ? 0 : prompt.length - 3;
      const answer = await client.stream(prompt);
      expect(cachedOf(answer)).toBe(before);
      turns.push((prompt = [...prompt, ...answer.ids]));
      prompt = [...prompt, 320, 331 + turn, 325];
    }
    const parent = turns[1] ?? [];
    expect(cachedOf(await client.stream([...parent, 341, 342]))).toBe(parent.length);
    expect(new Set(llama.evaluations.map(({ sequence }) => sequence)).size).toBe(canCopy ? 2 : 1);
    // Back to the chain: it is all there where the fork got a copy, and else up to where that branched off.
    const chain = turns[4] ?? [];
    expect(cachedOf(await client.stream([...chain, 351]))).toBe(canCopy ? chain.length : parent.length);
  });

  it('keeps side by side what branched off one turn, whichever is gone on with', async () => {
    const client = await start(new FakeLlama());
    const root = [311, 312, 313, 314, 315];
    const begun = [...root, ...(await client.stream(root)).ids];
    const branches = [];
    for (const id of [351, 361, 371]) {
      const answer = await client.stream([...begun, id]);
      expect(cachedOf(answer)).toBe(begun.length);
      branches.push([...begun, id, ...answer.ids]);
    }
    for (const branch of branches) {
      expect(cachedOf(await client.stream([...branch, 381]))).toBe(canCopy ? branch.length : begun.length);
    }
  });

  it('counts what the engine had to evaluate, not what was hoped for', async () => {
    const llama = new FakeLlama();
    const client = await start(llama);
    const prompt = [311, 312, 313, 314, 315];
    await client.stream(prompt);
    // The same prompt again: its last token is evaluated once more.
    expect(cachedOf(await client.stream(prompt))).toBe(4);
    expect(cachedOf(await client.stream([311, 312, 300]))).toBe(0);
    llama.evaluatesAgain = true;
    expect(cachedOf(await client.stream([...prompt, 300]))).toBe(0);
  });

  it('shows nothing of one salt to another', async () => {
    const client = await start(new FakeLlama(), { slots: 1 });
    const prompt = [311, 312, 313];
    await client.stream(prompt, { cache_salt: 'a' });
    expect(cachedOf(await client.stream([...prompt, 314], { cache_salt: 'b' }))).toBe(0);
    expect(cachedOf(await client.stream([...prompt, 314, 315], { cache_salt: 'b' }))).toBe(4);
  });

  it('samples as the request says, with a seed in any case', async () => {
    const llama = new FakeLlama();
    const client = await start(llama);
    await client.stream([310], { temperature: 0.5, top_p: 0.9, seed: 7 });
    await client.stream([310], { seed: -1 });
    await client.stream([310]);
    await client.stream([310]);
    const [given, negative, third, fourth] = llama.sampling;
    const rest = { topK: 0, minP: 0, yieldEogToken: true };
    expect(given).toEqual({ temperature: 0.5, topP: 0.9, seed: 7, ...rest });
    expect(negative).toEqual({ temperature: 1, topP: 1, seed: 0xffff_fffe, ...rest });
    expect(third?.seed).not.toBe(fourth?.seed);
  });

  it('generates side by side, evaluating long prompts in pieces, and lets the rest wait in their order', async () => {
    const llama = new FakeLlama();
    const client = await start(llama, { slots: 2 });
    const long = Array.from({ length: 3 * PREFILL_TOKENS }, () => 311);
    const order: string[] = [];
    const ask = async (name: string, prompt: number[]) => {
      const answer = await client.stream(prompt);
      order.push(name);
      return answer;
    };
    const { step, waiting } = stepwise(llama);
    const answers = [ask('long', long)];
    await eventually(() => waiting() === 1);
    answers.push(ask('short', [317]));
    await eventually(() => waiting() === 2);
    answers.push(ask('third', [327]));
    await client.until((state) => state.requests === 3);
    answers.push(ask('fourth', [337]));
    await client.until((state) => state.requests === 4);
    expect(waiting()).toBe(2);
    while (order.length < 4) {
      step();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(answers);
    expect(order.filter((name) => name !== 'long')).toEqual(['short', 'third', 'fourth']);
    expect(Math.max(...llama.evaluations.map(({ tokens }) => tokens.length))).toBe(PREFILL_TOKENS);
  });

  it('generates at most one more token for a client that has left, and keeps what was evaluated', async () => {
    const llama = new FakeLlama(endless);
    const client = await start(llama);
    const { step, waiting } = stepwise(llama);
    const prompt = [301, 302, 303];
    const leaving = new AbortController();
    const response = client.post({ prompt, max_tokens: 500, stream: true }, leaving.signal);
    for (let i = 0; i < 4; i++) {
      await eventually(() => waiting() === 1);
      step();
    }
    await response;
    await eventually(() => waiting() === 1);
    leaving.abort();
    const before = (await client.state()).tokens_generated;
    // The engine gets to know when the connection has closed; the token in hand is the last.
    await client.until((state) => {
      if (state.running > 0) step();
      return state.running === 0;
    });
    const { aborted, last } = await client.state();
    expect([aborted, last.aborted, last.finish_reason]).toEqual([1, true, 'abort']);
    expect(last.completion_tokens).toBeGreaterThanOrEqual(before);
    llama.beforeEvaluation = async () => undefined;
    const again = await client.stream([...prompt, 300, 300, 7], { max_tokens: 1 });
    expect(cachedOf(again)).toBe(5);
  });

  it('lets a client that stops one answer and asks for another find its prompt', async () => {
    const llama = new FakeLlama(endless);
    const client = await start(llama);
    const { step, waiting } = stepwise(llama);
    const leaving = new AbortController();
    const response = client.post({ prompt: [301, 302, 303], max_tokens: 9, stream: true }, leaving.signal);
    await eventually(() => waiting() === 1);
    step();
    await response;
    await eventually(() => waiting() === 1);
    leaving.abort();
    const other = client.stream([301, 302, 303, 304], { max_tokens: 1 });
    await client.until((state) => state.requests === 2);
    // The token in hand, which is cut off again; then the new prompt.
    step();
    await client.until((state) => state.aborted === 1);
    llama.beforeEvaluation = async () => undefined;
    while (waiting() > 0) step();
    expect(cachedOf(await other)).toBe(3);
  });

  it('lets a client leave that waits for a sequence, or whose prompt is being evaluated', async () => {
    const llama = new FakeLlama(endless);
    const client = await start(llama, { slots: 1 });
    const { step, waiting } = stepwise(llama);
    const first = new AbortController();
    const second = new AbortController();
    const long = Array.from({ length: 10 * PREFILL_TOKENS }, () => 311);
    const gone = [client.post({ prompt: long, max_tokens: 9 }, first.signal).catch(() => undefined)];
    await eventually(() => waiting() === 1);
    gone.push(client.post({ prompt: [301], max_tokens: 9 }, second.signal).catch(() => undefined));
    await client.until((state) => state.requests === 2);
    second.abort();
    await client.until((state) => state.aborted === 1);
    first.abort();
    await client.until((state) => {
      step();
      return state.running === 0;
    });
    await Promise.all(gone);
    expect(llama.evaluations.length).toBeLessThan(10);
    const kept = llama.evaluations.length * PREFILL_TOKENS;
    expect((await client.state()).aborted).toBe(2);
    llama.beforeEvaluation = async () => undefined;
    expect(cachedOf(await client.stream(long, { max_tokens: 1 }))).toBe(kept);
    expect((await client.stream([305], { max_tokens: 3 })).ids).toEqual([300, 300, 300]);
  });

  it('fails in the stream when the engine does, and trusts the sequence no more', async () => {
    const llama = new FakeLlama();
    const client = await start(llama, { slots: 1 });
    await client.stream([311, 312]);
    const healthy = llama.beforeEvaluation;
    llama.beforeEvaluation = () => Promise.reject(new Error('Eval has failed'));
    const failed = await client.stream([311, 312, 313, 314]);
    expect(failed.chunks.at(-1)?.error?.message).toBe('The engine failed while generating: Eval has failed');
    const response = await client.post({ prompt: [311], max_tokens: 3 });
    expect(response.status).toBe(500);
    llama.beforeEvaluation = healthy;
    const answer = await client.stream([311, 312, 313, 314]);
    expect([cachedOf(answer), answer.ids.at(-1)]).toEqual([0, EOG]);
    expect((await client.state()).running).toBe(0);
  });

  it('uses the context to its last token, and refuses more in the words of vLLM', async () => {
    const client = await start(new FakeLlama(endless), { context: 20 });
    const prompt = Array.from({ length: 12 }, (_, i) => 300 + i);
    const full = await client.stream(prompt, { max_tokens: 8 });
    expect([full.ids.length, full.finishReason]).toEqual([8, 'length']);
    const refused = await client.post({ prompt, max_tokens: 9 });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain(
      "This model's maximum context length is 20 tokens. However, you requested 21 tokens (12 in the prompt, 9 for the completion).",
    );
    const models = (await (await fetch(`${client.url}/v1/models`)).json()) as { data: object[] };
    expect(models.data).toMatchObject([{ id: 'fake', max_model_len: 20 }]);
    expect((await fetch(`${client.url}/health`)).status).toBe(200);
  });

  it.each([
    [{ prompt: [] }, 400, 'non-empty'],
    [{ prompt: [511, 512] }, 400, 'prompt[1] is 512, not a token id below 512'],
    [{ prompt: [311], model: 'other' }, 404, '`other` does not exist'],
    [{ prompt: [311], temperature: -1 }, 400, 'temperature'],
    [{ prompt: [311], content_parts: [{ type: 'image_url', url: 'data:' }] }, 400, 'no images'],
    [{ prompt: [311], structured_outputs: { json: {} } }, 400, 'grammar'],
    ['[1', 400, 'not a JSON object'],
  ])('refuses %j', async (body, status, words) => {
    const client = await start(new FakeLlama());
    const response = await client.post(body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(words);
    expect((await client.state()).requests).toBe(0);
  });
});

describe('a file that cannot be served', () => {
  const missing = fileURLToPath(new URL('missing.gguf', import.meta.url));
  const damaged = fileURLToPath(new URL('../../../../package.json', import.meta.url));
  it.each([
    [{ gguf: missing }, 'missing.gguf does not exist'],
    [{ gguf: fileURLToPath(new URL('.', import.meta.url)) }, 'is not a file'],
    [{ gguf: damaged }, 'package.json cannot be loaded: Invalid GGUF magic'],
    [{ context: 20_000 }, 'was trained with 10000 tokens of context, not 20000'],
  ])('says so: %j', async (settings, words) => {
    await expect(startFakeLlama(new FakeLlama(counting), settings)).rejects.toThrow(words);
  });
});
