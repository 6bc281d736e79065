import { describe, expect, it } from '@jest/globals';
import { ApiError, parseInput, parseRequest, type Item } from '@turnpike/protocol';
import { expectIncremental, stageToken, TurnContext, type TurnItem } from '@turnpike/turns';
import fc from 'fast-check';
import { dataUrl, jpeg, png } from '../testing/samples.js';
import { ImageLoader, type ImageSource, type LoadedImage } from './image-loader.js';
import { imagesCodec } from './images-codec.js';
import { ImagesStage } from './images.stage.js';
import { imageBytes, imagesOf, NO_IMAGES, type KnownImages } from './images.js';
import type { ImageRule } from './price.js';

const Route = stageToken<{ model: string; images?: ImageRule | undefined }>('route');
const TILES: ImageRule = { tokens: 'tiles', base: 85, tile: 170, detail: true };
const FIXED: ImageRule = { tokens: 'fixed', each: 10 };

/** Takes https URLs as well, and keeps what it was asked for. */
class FakeLoader extends ImageLoader {
  readonly loaded: string[] = [];

  constructor() {
    super({ maxBytes: 1_000_000 });
  }

  override load(
    sources: readonly ImageSource[],
    signal: AbortSignal,
  ): LoadedImage[] | Promise<LoadedImage[]> {
    this.loaded.push(...sources.map(({ url }) => url));
    const remote = sources.some(({ url }) => url.startsWith('https:'));
    if (!remote) return super.load(sources, signal);
    const inline = ({ url, param }: ImageSource) =>
      url.startsWith('https:') ? { url: dataUrl(png(7, 7)), param } : { url, param };
    return Promise.resolve(super.load(sources.map(inline), signal)).then((images) =>
      images.map((image, index) => ({ ...image, fetched: sources[index]?.url !== image.url })),
    );
  }
}

interface Given {
  readonly previous?: KnownImages | undefined;
  readonly history?: readonly TurnItem[];
  readonly known?: number;
  readonly rule?: ImageRule | undefined;
  readonly loader?: ImageLoader;
}

/** One turn of the stage, and the work it counted. */
async function advance(input: readonly object[], given: Given = {}) {
  const { previous, history = [], known = 0, loader = new FakeLoader() } = given;
  const rule = 'rule' in given ? given.rule : TILES;
  const stage = new ImagesStage({ routeToken: Route, loader });
  const items = parseInput(input).map((item): TurnItem => ({ item }));
  const request = parseRequest({ model: 'm' }, 'websocket');
  const turn = new TurnContext({ id: 'resp_1', tenant: 't', request, items, known, history: () => history });
  turn.artifacts.set(Route.name, { model: 'm', images: rule });
  const images = await stage.advance(previous, turn.viewFor(stage));
  return {
    images,
    items,
    loaded: loader instanceof FakeLoader ? loader.loaded : [],
    work: turn.work.get('images_loaded') ?? 0,
  };
}

async function errorOf(input: readonly object[], given: Given = {}): Promise<ApiError> {
  const thrown: unknown = await advance(input, given).catch((error: unknown) => error);
  if (thrown instanceof ApiError) return thrown;
  throw new Error(`no ApiError: ${String(thrown)}`);
}

const text = { type: 'input_text', text: 'look' };
const image = (width: number, height: number, detail?: string) => ({
  type: 'input_image',
  image_url: dataUrl(png(width, height)),
  ...(detail === undefined ? {} : { detail }),
});
const remote = { type: 'input_image', image_url: 'https://example.com/a.png' };
const user = (...content: object[]) => ({ role: 'user', content });
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const output = (...parts: object[]) => ({ type: 'function_call_output', call_id: 'c1', output: parts });
const sizesOf = (images: KnownImages) => imagesOf(images).map(({ width, height }) => `${width}x${height}`);

describe('the images of a chain', () => {
  it('are loaded, sized and priced in the turn that brings them, wherever they stand', async () => {
    const { images, work } = await advance([
      user(text, image(640, 480), image(1024, 1024, 'low')),
      call,
      output(image(1024, 1024), text),
      { ...output(image(513, 512)), type: 'custom_tool_call_output', call_id: 'c2' },
      { role: 'developer', content: [{ type: 'input_image', image_url: dataUrl(jpeg(3, 2), 'jpeg') }] },
    ]);
    expect(sizesOf(images)).toEqual(['640x480', '1024x1024', '1024x1024', '513x512', '3x2']);
    expect(images).toMatchObject({ count: 5, tokens: 425 + 85 + 765 + 425 + 255, rule: TILES });
    expect(work).toBe(5);
  });

  it('are taken over by later turns, which load what is new only', async () => {
    const { images: first } = await advance([user(image(640, 480), remote)]);
    const { images: second, loaded, work } = await advance([user(image(1, 1))], { previous: first });
    expect(sizesOf(second)).toEqual(['640x480', '7x7', '1x1']);
    expect(second.tokens).toBe(first.tokens + 255);
    expect([loaded, work]).toEqual([[dataUrl(png(1, 1))], 1]);
    const { images: third, work: none } = await advance([user(text)], { previous: second });
    expect([third === second, none]).toEqual([true, 0]);
    expect(sizesOf(first)).toEqual(['640x480', '7x7']);
  });

  it('are the very strings of their items, and what was fetched is charged', async () => {
    const { images, items } = await advance([user(image(640, 480), remote)]);
    const [inline, fetched] = imagesOf(images);
    const message = items[0]?.item as Extract<Item, { type: 'message' }>;
    expect(message.content[0]).toMatchObject({ image_url: inline?.url });
    expect([inline?.fetched, fetched?.fetched]).toEqual([false, true]);
    expect(imageBytes(images, undefined)).toBe(2 * dataUrl(png(7, 7)).length);
    expect(imageBytes(images, images)).toBe(0);
    const { images: more } = await advance([user(image(1, 1))], { previous: images });
    expect(imageBytes(more, images)).toBe(0);
  });

  it('are priced anew for a model with another rule, and not loaded again', async () => {
    const { images } = await advance([user(image(640, 480), image(1, 1))]);
    const { images: repriced, work } = await advance([user(text)], { previous: images, rule: FIXED });
    expect([repriced.tokens, work]).toEqual([20, 0]);
    const { images: more } = await advance([user(image(1, 1))], { previous: repriced });
    expect(more.tokens).toBe(425 + 255 + 255);
    const { images: same } = await advance([user(text)], { previous: images, rule: { ...TILES } });
    expect(same).toBe(images);
  });

  it('cost a promise only when one has to be fetched', () => {
    const loader = new FakeLoader();
    const stage = new ImagesStage({ routeToken: Route, loader });
    const run = (input: object[]) => {
      const items = parseInput(input).map((item) => ({ item }));
      const request = parseRequest({ model: 'm' }, 'http');
      const turn = new TurnContext({ id: 'r', tenant: 't', request, items, history: () => [] });
      turn.artifacts.set(Route.name, { model: 'm', images: TILES });
      return stage.advance(undefined, turn.viewFor(stage));
    };
    expect(run([user(text)])).toBe(NO_IMAGES);
    expect(run([user(image(1, 1))])).not.toBeInstanceOf(Promise);
    expect(run([user(remote)])).toBeInstanceOf(Promise);
  });

  it('of a parent that was made without this stage are loaded with the new ones', async () => {
    const history = parseInput([user(image(640, 480))]).map((item) => ({ item }));
    const { images, work } = await advance([user(image(1, 1))], { history });
    expect([sizesOf(images), work]).toEqual([['640x480', '1x1'], 2]);
    const broken = parseInput([user({ type: 'input_image', image_url: 'x' })]).map((item) => ({ item }));
    expect((await errorOf([], { history: broken })).body).toMatchObject({
      code: 'invalid_image_url',
      param: 'previous_response_id',
    });
  });

  it('are named by the conversation where it brought them', async () => {
    const given = { known: -1, rule: undefined };
    expect((await errorOf([user(image(1, 1)), user(text)], given)).param).toBe('conversation');
    expect((await errorOf([user(text), user(image(1, 1))], given)).param).toBe('input[0].content[0]');
    for (const part of [{ image_url: 'x' }, { image_url: remote.image_url }, { file_id: 'file_1' }, {}]) {
      const loader = new ImageLoader({ maxBytes: 1000 });
      const brought = [user({ type: 'input_image', ...part }), user(text)];
      expect((await errorOf(brought, { known: -1, loader })).param).toBe('conversation');
    }
  });
});

describe('an image that is not taken', () => {
  const none = { rule: undefined };
  it.each<[string, object[], number, string]>([
    ['in a message', [user(text, image(1, 1))], 0, 'input[0].content[1]'],
    ['in a later message', [user(text), user(image(1, 1))], 0, 'input[1].content[0]'],
    ['behind known items', [user(image(1, 1))], 3, 'input[3].content[0]'],
    ['in a tool output', [user(text), call, output(text, text, image(1, 1))], 0, 'input[2].output[2]'],
    [
      'in a custom tool output',
      [{ ...output(text, image(1, 1)), type: 'custom_tool_call_output' }],
      0,
      'input[0].output[1]',
    ],
  ])('by the model is named by its place: %s', async (_name, input, known, param) => {
    expect((await errorOf(input, { ...none, known })).body).toEqual({
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      message: "The model does not take 'input_image' parts.",
      param,
    });
  });

  it('by the model that is to go on with a conversation', async () => {
    const { images } = await advance([user(image(1, 1))]);
    expect((await errorOf([user(text)], { ...none, previous: images })).body).toEqual({
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      message: "The model 'm' does not take images, and this conversation has some.",
      param: 'model',
    });
  });

  it.each<[object, string, string]>([
    [{ type: 'input_image', file_id: 'file_1' }, 'unsupported_parameter', 'input[0].content[1].file_id'],
    [{ type: 'input_image' }, 'missing_required_parameter', 'input[0].content[1].image_url'],
    [{ type: 'input_image', image_url: '' }, 'invalid_image_url', 'input[0].content[1].image_url'],
    [
      { type: 'input_image', image_url: dataUrl(png(1, 1), 'jpeg') },
      'invalid_image_format',
      'input[0].content[1].image_url',
    ],
  ])('for what it is: %j', async (part, code, param) => {
    const error = await errorOf([user(text, part)]);
    expect([error.status, error.code, error.param]).toEqual([400, code, param]);
  });
});

const side = fc.integer({ min: 1, max: 3000 });
const part = fc.oneof(
  fc.constant<object>(text),
  fc
    .tuple(side, side, fc.constantFrom('low', 'high', undefined))
    .map(([w, h, detail]): object => image(w, h, detail)),
  fc.constant<object>(remote),
);
const item = fc
  .array(part, { maxLength: 3 })
  .chain((parts) => fc.constantFrom(user(...parts), output(...parts)));
const conversation = fc.array(fc.array(item, { maxLength: 3 }), { maxLength: 5 });

describe('the images stage', () => {
  it('keeps the laws of a stage', () =>
    fc.assert(
      fc.asyncProperty(conversation, (turns) =>
        expectIncremental(new ImagesStage({ routeToken: Route, loader: new FakeLoader() }), {
          turns: turns.map((inputs) => parseInput(inputs).map((each) => ({ item: each }))),
          artifacts: new Map([[Route.name, { model: 'm', images: TILES }]]),
        }),
      ),
      { numRuns: 40 },
    ));

  it('is read back from its records as it was, without loading anything', () =>
    fc.assert(
      fc.asyncProperty(conversation, fc.boolean(), async (turns, fromRoot) => {
        const items: TurnItem[] = [];
        const records = [];
        let previous: KnownImages | undefined;
        for (const input of turns) {
          const { images, items: added } = await advance(input, { previous });
          items.push(...added);
          records.push(imagesCodec.encode(images, fromRoot ? undefined : previous));
          previous = images;
        }
        if (previous === undefined) return;
        const stored = (fromRoot ? records.slice(-1) : records).map(({ state, ids }) => {
          return { state: JSON.parse(JSON.stringify(state)) as unknown, ids };
        });
        expect(imagesCodec.decode(stored, () => items)).toEqual(previous);
      }),
      { numRuns: 60 },
    ));

  it('keeps nothing in its records that the items hold', async () => {
    const { images } = await advance([user(image(640, 480), remote)]);
    const { state } = imagesCodec.encode(images, undefined);
    expect(JSON.stringify(state)).not.toContain(dataUrl(png(640, 480)));
    expect(JSON.stringify(state)).toContain(dataUrl(png(7, 7)));
    expect(imagesCodec.encode(images, images).state).toEqual({ rule: TILES, added: undefined });
    expect(() => imagesCodec.decode([{ state, ids: new Int32Array() }], () => [])).toThrow('no item has');
  });
});
