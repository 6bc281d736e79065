import { expect, it } from '@jest/globals';
import { HARMONY, harmony, TokenEncoder } from '@turnpike/formats';
import { ImageLoader, ImagesStage } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';
import { parseRequest } from '@turnpike/protocol';
import { RenderingStage } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage } from '@turnpike/routing';
import { Pipeline, TurnContext } from '@turnpike/turns';
import { memoryMeter } from '../../testing/metering.js';
import { ValidationStage } from '@turnpike/validation';
import { stageList } from '../stages.js';
import { testSafety } from '../../testing/safety.js';
import { enginePrompt } from './engine-prompt.js';

const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const format = harmony();
const encoder = new TokenEncoder(format.tokenizer);
const engine = { name: 'unused' } as EngineClient;
const router = new CatalogueRouter([
  {
    model: 'm',
    engineModel: 'm',
    format,
    contextTokens: 10_000,
    engine,
    images: { tokens: 'fixed', each: 100 },
  },
]);
const { admission, preparation } = stageList({
  validation: new ValidationStage(),
  routing: new RoutingStage(router),
  images: new ImagesStage({ routeToken: Routing, loader: new ImageLoader({ maxBytes: 10_000 }) }),
  safety: testSafety().safety,
  rendering: new RenderingStage({ formatToken: Routing, encoder: () => encoder, today: () => '2026-01-31' }),
  hold: memoryMeter().hold,
});

async function promptFor(...content: object[]) {
  const request = parseRequest({ model: 'm', input: [{ role: 'user', content }] }, 'http');
  const items = request.input.map((item) => ({ item }));
  const turn = new TurnContext({ id: 'resp_1', tenant: 't', request, items, history: () => [] });
  return enginePrompt(await new Pipeline(admission, preparation).run(turn, undefined));
}

it('has an image for each placeholder, each at its price', async () => {
  const text = { type: 'input_text', text: 'x' };
  const image = { type: 'input_image', image_url: PIXEL };
  const plain = await promptFor(text);
  const prompt = await promptFor(image, text, image);
  expect(prompt.images?.map(({ url }) => url.toString())).toEqual([PIXEL, PIXEL]);
  expect(prompt.length).toBe(plain.length + 200);
  const ids = JSON.parse(Buffer.concat([...prompt.json]).toString()) as number[];
  expect(ids.filter((id) => id === HARMONY.image)).toHaveLength(2);
  expect(plain).not.toHaveProperty('images');
});

it('has no image where a text only spells one', async () => {
  const prompt = await promptFor({ type: 'input_text', text: format.tokenizer.decode([HARMONY.image]) });
  const ids = JSON.parse(Buffer.concat([...prompt.json]).toString()) as number[];
  expect(ids).not.toContain(HARMONY.image);
});
