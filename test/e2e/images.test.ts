import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataUrl, jpeg, png } from '../../libs/images/testing/samples.js';
import { WebServer } from '../../libs/images/testing/servers.js';
import { App, FAST, startPlatform } from './platform.js';
import { SocketClient, terminalOf, textOf, type WireEvent, type WireUsage } from './socket-client.js';

const text = (words: string) => ({ type: 'input_text', text: words });
const image = (url: string, detail?: string) => ({
  type: 'input_image',
  image_url: url,
  ...(detail === undefined ? {} : { detail }),
});
const user = (...content: object[]) => ({ role: 'user', content });
const QUIET = { reasoning: { effort: 'low' }, tools: [] };
/** What a 640 by 480 image costs by the rule of the built-in model: a base and two tiles. */
const PRICE = 85 + 2 * 170;

function usageOf(events: readonly WireEvent[]): WireUsage {
  const { usage } = terminalOf(events).response;
  if (usage === null) throw new Error('there is no usage');
  return usage;
}

async function post(app: App, body: object, path = '/v1/responses') {
  const answer = await fetch(`${app.url}${path}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', ...QUIET, ...body }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function countInput(app: App, body: object): Promise<unknown> {
  return (await post(app, body, '/v1/responses/input_tokens')).body['input_tokens'];
}

/** How many images each of these responses loaded, by the log, which may come a moment after an answer. */
async function imagesLoaded(app: App, ids: readonly unknown[]): Promise<(number | undefined)[]> {
  for (;;) {
    const turns = new Map<unknown, { images_loaded?: number }>();
    for (const line of app.output().split('\n')) {
      if (!line.includes('"msg":"turn ended"') || !line.endsWith('}')) continue;
      const { response, work } = JSON.parse(line) as { response: string; work: { images_loaded?: number } };
      turns.set(response, work);
    }
    if (ids.every((id) => turns.has(id))) return ids.map((id) => turns.get(id)?.images_loaded);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('an image in a data: URL', () => {
  let app: App;
  beforeAll(async () => {
    app = await startPlatform();
  });
  afterAll(() => app.stop());

  it('reaches the model, stays in the chain, and is loaded and paid for as one', async () => {
    const client = await SocketClient.connect(app.url);
    const first = [user(text('What is this?'), image(dataUrl(png(640, 480))))];
    const one = await client.create({ ...QUIET, store: false, input: first });
    expect(textOf(one)).toBe('You said: "What is this?". (message 1, 0 tool outputs, 1 image 640x480)');
    const counted = await countInput(app, { input: first });
    expect(usageOf(one).input_tokens).toBe(counted);
    expect(counted).toBe(
      ((await countInput(app, { input: [user(text('What is this?'))] })) as number) + PRICE,
    );

    const previous_response_id = terminalOf(one).response.id;
    const input = [user(text('And now?'), image(dataUrl(jpeg(1024, 1024), 'jpeg'), 'low'))];
    const two = await client.create({ ...QUIET, store: false, input, previous_response_id });
    expect(textOf(two)).toBe('You said: "And now?". (message 2, 0 tool outputs, 2 images 640x480 1024x1024)');
    // All of the first turn is in the engine's cache, its image too, but for the last id, which history writes as <|end|>.
    const before = usageOf(one).input_tokens + usageOf(one).output_tokens;
    expect(usageOf(two).input_tokens_details.cached_tokens).toBe(before - 1);
    const three = await client.create({
      ...QUIET,
      store: false,
      input: 'Go on',
      previous_response_id: terminalOf(two).response.id,
    });
    expect(textOf(three)).toContain('2 images 640x480 1024x1024');
    client.close();
    expect(
      await imagesLoaded(
        app,
        [one, two, three].map((events) => terminalOf(events).response.id),
      ),
    ).toEqual([1, 1, undefined]);
  });

  it('is known again when a client brings its conversation whole', async () => {
    const first = [user(text('whole'), image(dataUrl(png(641, 480))))];
    const { body } = await post(app, { input: first });
    const output = body['output'] as object[];
    const again = await post(app, { input: [...first, ...output, user(text('more'))] });
    expect(JSON.stringify(again.body)).toContain('1 image 641x480');
    expect(await imagesLoaded(app, [body['id'], again.body['id']])).toEqual([1, undefined]);
  });

  it('comes back from a tool as well', async () => {
    const call = { type: 'function_call', call_id: 'c1', name: 'screenshot', arguments: '{}' };
    const output = [text('the screen'), image(dataUrl(png(800, 600)))];
    const { body } = await post(app, {
      input: [user(text('Look')), call, { type: 'function_call_output', call_id: 'c1', output }],
    });
    expect(JSON.stringify(body)).toContain(
      'The tool said: \\"the screen\\". You said: \\"Look\\". (message 1, 1 tool output, 1 image 800x600)',
    );
  });

  it.each<[string, object, string, string]>([
    ['an uploaded file', { type: 'input_image', file_id: 'file_1' }, 'unsupported_parameter', '.file_id'],
    ['another type', image(dataUrl(png(1, 1), 'jpeg')), 'invalid_image_format', '.image_url'],
    ['no image', image(dataUrl(Buffer.from('hello'))), 'invalid_image_format', '.image_url'],
    ['no base64', image('data:image/png;base64,%'), 'invalid_base64_image', '.image_url'],
    ['an unknown detail', image(dataUrl(png(1, 1)), 'ultra'), 'invalid_value', '.detail'],
    [
      'a URL, where nothing is fetched',
      image('https://example.com/a.png'),
      'invalid_image_url',
      '.image_url',
    ],
    ['a file', { type: 'input_file', file_data: 'data:text/plain;base64,aGk=' }, 'unsupported_parameter', ''],
  ])('is refused when it is %s', async (_name, part, code, field) => {
    const answer = await post(app, { input: [user(text('ok')), user(text('x'), part)] });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code, param: `input[1].content[1]${field}` } });
  });
});

describe('an image behind a URL', () => {
  let folder: string;
  let engine: App;
  let web: WebServer;
  let secret: WebServer;
  let app: App;

  function startGateway(): Promise<App> {
    const config = join(folder, 'turnpike.yaml');
    writeFileSync(
      config,
      [
        'port: 0',
        `engines: { engine: { url: "${engine.url}", kind: vllm, structuredOutputs: false, images: content_parts } }`,
        'models:',
        '  sim: { engine: engine, contextTokens: 100000, images: { tokens: tiles } }',
        '  flat: { engine: engine, engineModel: sim, contextTokens: 100000, images: { tokens: fixed, each: 7 } }',
        '  narrow: { engine: engine, engineModel: sim, contextTokens: 500, images: { tokens: tiles } }',
        '  blind: { engine: engine, engineModel: sim }',
        `images: { fetch: true, timeoutMs: 30000, allowHosts: ["127.0.0.1:${web.port}"] }`,
        `store: { path: "${join(folder, 'turnpike.db')}" }`,
        `sealingKeyFile: "${join(folder, 'sealing.key')}"`,
      ].join('\n'),
    );
    return App.start('gateway', ['--config', config]);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-images-'));
    engine = await App.start('engine', ['--port', '0', '--model', 'sim', ...FAST]);
    const answer: Parameters<typeof WebServer.start>[0] = (request, response) => {
      const redirect = request.url?.startsWith('/to-secret') === true;
      response.writeHead(redirect ? 302 : 200, {
        'content-type': 'image/png',
        ...(redirect ? { location: `http://127.0.0.1:${secret.port}/` } : {}),
      });
      response.end(png(640, 480));
    };
    web = await WebServer.start(answer);
    secret = await WebServer.start(answer);
    app = await startGateway();
  });
  afterAll(async () => {
    await app.stop();
    await engine.stop();
    await web.stop();
    await secret.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const at = (path: string, server = web) => `http://127.0.0.1:${server.port}${path}`;

  it('is fetched once, and outlives its server and the gateway', async () => {
    const before = web.requests.length;
    const input = [user(text('See'), image(at('/once')))];
    const one = await post(app, { input });
    expect(JSON.stringify(one.body)).toContain('1 image 640x480');
    expect((one.body['usage'] as WireUsage).input_tokens).toBe(await countInput(app, { input }));
    // Counting is a request of its own, and keeps nothing.
    expect(web.requests).toHaveLength(before + 2);
    const two = await post(app, { input: 'And?', previous_response_id: one.body['id'] });
    expect(JSON.stringify(two.body)).toContain('(message 2, 0 tool outputs, 1 image 640x480)');

    await app.stop();
    app = await startGateway();
    const three = await post(app, { input: 'Still?', previous_response_id: two.body['id'] });
    expect(JSON.stringify(three.body)).toContain('(message 3, 0 tool outputs, 1 image 640x480)');
    expect((three.body['usage'] as WireUsage).input_tokens).toBeGreaterThan(PRICE);
    expect(await imagesLoaded(app, [three.body['id']])).toEqual([undefined]);
    expect(web.requests).toHaveLength(before + 2);
    const items = await (await fetch(`${app.url}/v1/responses/${String(one.body['id'])}/input_items`)).text();
    expect(items).toContain(at('/once'));
    expect(items).not.toContain('base64');
  });

  it('is one 400 on its field, whatever stands behind it', async () => {
    const urls = [
      at('/', secret),
      at('/to-secret'),
      'http://127.0.0.1:1/',
      `http://localhost:${web.port}/`,
      `http://[::ffff:127.0.0.1]:${web.port}/`,
      `http://2130706433:${web.port + 1}/`,
      'http://169.254.169.254/latest/meta-data/',
      `http://user:password@127.0.0.1:${web.port}/`,
      'https://nowhere.invalid/',
    ];
    const client = await SocketClient.connect(app.url);
    for (const url of urls) {
      const input = [user(text('x')), user(text('y'), image(url))];
      const expected = {
        type: 'invalid_request_error',
        code: 'failed_to_download_image',
        message: 'The image could not be downloaded.',
        param: 'input[1].content[1].image_url',
      };
      expect(await post(app, { input })).toEqual({ status: 400, body: { error: expected } });
      const [event] = await client.create({ ...QUIET, input });
      expect([event?.type, event?.status, event?.error]).toMatchObject(['error', 400, expected]);
    }
    client.close();
    expect(secret.requests).toHaveLength(0);
    for (const word of ['169.254', 'password', 'nowhere', String(secret.port)]) {
      expect(app.output()).not.toContain(word);
    }
  });

  it('is for models that take images, at what they charge', async () => {
    const input = [user(text('x'), image(dataUrl(png(640, 480))))];
    const { body } = await post(app, { input });
    const previous_response_id = body['id'];
    expect(await post(app, { model: 'blind', input })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'input[0].content[1]' } },
    });
    expect(await post(app, { model: 'blind', input: 'go on', previous_response_id })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'model' } },
    });
    const asSim = await countInput(app, { input: 'go on', previous_response_id });
    const asFlat = await countInput(app, { model: 'flat', input: 'go on', previous_response_id });
    expect((asSim as number) - (asFlat as number)).toBe(PRICE - 7);
    const two = [...input, ...input];
    expect(await post(app, { model: 'narrow', input: two })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });

  it('leaves nothing behind when nothing is to be stored', async () => {
    const pixels = Buffer.concat([png(640, 480), Buffer.from('marker-of-zero-retention')]);
    const marks = ['marker-in-a-url', dataUrl(pixels).slice(-28), png(640, 480).toString('base64')];
    const input = [user(text('x'), image(dataUrl(pixels)), image(at('/marker-in-a-url')))];
    const client = await SocketClient.connect(app.url);
    const one = await client.create({ ...QUIET, store: false, input });
    const previous_response_id = terminalOf(one).response.id;
    const two = await client.create({ ...QUIET, store: false, input: 'more', previous_response_id });
    expect(textOf(two)).toContain('2 images 640x480 640x480');
    const refused = [user(text('x'), image(`${at('/to-secret')}?marker-in-a-url`))];
    expect((await client.create({ ...QUIET, store: false, input: refused }))[0]?.status).toBe(400);
    client.close();
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile());
    expect(files.length).toBeGreaterThan(1);
    const disk = files.map((path) => readFileSync(path, 'latin1')).join('');
    // The image of an earlier test was to be stored, and shows where these would be.
    expect(disk).toContain('/once');
    for (const mark of marks.slice(0, 2)) expect(disk).not.toContain(mark);
    for (const mark of marks) expect(app.output() + engine.output()).not.toContain(mark);
  });
});
