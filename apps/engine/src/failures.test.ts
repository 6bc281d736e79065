import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EngineClient, readAnswer } from '../testing/client.js';
import { PromptBuilder } from '../testing/conversation.js';

const prompt = (marker: string) =>
  new PromptBuilder({ effort: 'low' }).user(`Hi [sim ${marker}]`).generation();

describe('failures on demand', () => {
  let engine: EngineClient;
  beforeAll(async () => {
    engine = await EngineClient.start();
  });
  afterAll(() => engine.close());

  const post = (marker: string, stream: boolean) =>
    engine.post({ prompt: prompt(marker), max_tokens: 100, stream, return_token_ids: true });

  it('cut the connection after so many tokens', async () => {
    const response = await post('die=3', true);
    const read: string[] = [];
    const reading = (async () => {
      for await (const part of response.body ?? []) read.push(new TextDecoder().decode(part as Uint8Array));
    })();
    await expect(reading).rejects.toThrow();
    const answer = readAnswer(read.join(''));
    expect(answer.ids).toHaveLength(3);
    expect(answer.done).toBe(false);
    await expect(post('die=3', false)).rejects.toThrow();
    const state = await engine.state();
    expect(state).toMatchObject({ running: 0, aborted: 0, last: { completion_tokens: 3 } });
  });

  it('tell of an error inside the stream', async () => {
    const answer = readAnswer(await (await post('error=4', true)).text());
    expect(answer.ids).toHaveLength(4);
    expect(answer.finishReason).toBeNull();
    expect(answer.chunks.at(-1)?.error).toMatchObject({ code: 500 });
    expect(answer.done).toBe(true);
    expect((await post('error=4', false)).status).toBe(500);
  });

  it('refuse with a status', async () => {
    const response = await post('status=503', true);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { type: 'ServiceUnavailableError', code: 503 } });
  });
});

describe('the script of the command line', () => {
  it('holds for every request', async () => {
    const engine = await EngineClient.start({ script: 'tokens=50 reason=5' });
    try {
      const answer = await engine.stream(prompt('reason=9'));
      expect(answer.messages.map(({ channel }) => channel)).toEqual(['analysis', 'final']);
      expect(answer.ids.length).toBeGreaterThanOrEqual(60);
    } finally {
      await engine.close();
    }
  });
});
