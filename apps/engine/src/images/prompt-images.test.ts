import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import { EngineClient } from '../../testing/client.js';

const tokenizer = o200kHarmony();
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** A GIF of one pixel on a screen of this size. */
function image(width: number, height: number) {
  const bytes = Buffer.from(PIXEL);
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return { type: 'image_url', url: `data:image/gif;base64,${bytes.toString('base64')}` };
}

/** A user message, with an image where a number stands. */
function user(...content: (string | 0)[]): number[] {
  const pieces = content.flatMap((piece) => (piece === 0 ? [HARMONY.image] : [...tokenizer.encode(piece)]));
  return [HARMONY.start, ...tokenizer.encode('user'), HARMONY.message, ...pieces, HARMONY.end];
}
const ASK = [HARMONY.start, ...tokenizer.encode('assistant')];

describe('images beside the ids', () => {
  let engine: EngineClient;
  beforeAll(async () => {
    engine = await EngineClient.start({ context: 50_000, script: 'reason=0' });
  });
  afterAll(() => engine.close());

  it('are seen by the model, and take their tokens', async () => {
    const prompt = [...user('See ', 0, 'this', 0), ...ASK];
    const answer = await engine.stream(prompt, {
      content_parts: [image(640, 480), { ...image(1024, 1024), detail: 'low' }],
    });
    expect(answer.messages.at(-1)?.content).toBe(
      'You said: "See this". (message 1, 0 tool outputs, 2 images 640x480 1024x1024)',
    );
    expect(answer.usage?.prompt_tokens).toBe(prompt.length - 2 + 425 + 85);
  });

  it('are cached with the prompt, until one is another', async () => {
    const first = user('cache ', 0);
    const parts = [image(640, 480)];
    const { ids, usage } = await engine.stream([...first, ...ASK], { content_parts: parts });
    const before = (usage?.prompt_tokens ?? 0) + ids.length;
    const next = [...first, ...ASK, ...ids, ...user(' more ', 0), ...ASK];
    const same = await engine.stream(next, { content_parts: [...parts, image(1, 1)] });
    expect(same.usage?.prompt_tokens_details.cached_tokens).toBe(before);
    const other = await engine.stream(next, { content_parts: [image(641, 480), image(1, 1)] });
    expect(other.usage?.prompt_tokens_details.cached_tokens).toBe(first.indexOf(HARMONY.image));
    expect(other.messages.at(-1)?.content).toContain('2 images 641x480 1x1');
  });

  it.each<[string, number[], unknown, string]>([
    [
      'fewer than there are placeholders',
      [...user(0, 0)],
      [image(1, 1)],
      '2 image placeholders, content_parts 1',
    ],
    [
      'more than there are placeholders',
      [...user('x')],
      [image(1, 1)],
      '0 image placeholders, content_parts 1',
    ],
    ['none, where there is a placeholder', [...user(0)], undefined, '1 image placeholders, content_parts 0'],
    ['no image', [...user(0)], [{ type: 'image_url', url: 'data:image/png;base64,AAAA' }], 'not a PNG'],
    ['something else', [...user(0)], [{ type: 'audio_url', url: 'x' }], 'content_parts.0.type'],
  ])('are refused when they are %s', async (_name, prompt, parts, message) => {
    const response = await engine.post({ prompt: [...prompt, ...ASK], content_parts: parts });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(message);
  });

  it('count towards the context', async () => {
    const parts = Array.from({ length: 60 }, () => image(2000, 2000));
    const prompt = [...user(...parts.map(() => 0 as const)), ...ASK];
    const response = await engine.post({ prompt, content_parts: parts, max_tokens: 5000 });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('maximum context length');
  });
});
