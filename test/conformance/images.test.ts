import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPlatform, type App } from '../e2e/platform.js';
import { responseShape } from './response-shape.js';
import { terminal } from './stream-rules.js';
import { overBoth, postJson } from './transports.js';

/** The built-in model takes images. */
let stand: App;

beforeAll(async () => {
  stand = await startPlatform();
});
afterAll(() => stand.stop());
const here = () => stand;

/** One pixel. */
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const asking = (image: unknown) => [
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is this?' }, image] },
];

it('image-input', async () => {
  const { status, text } = await postJson(stand.url, {
    input: asking({ type: 'input_image', image_url: PNG }),
  });
  expect(status).toBe(200);
  expect(responseShape.parse(JSON.parse(text)).status).toBe('completed');
});

overBoth(
  '20. an image part is taken, with every detail, in messages and in tool outputs',
  here,
  async (client) => {
    for (const detail of [undefined, null, 'auto', 'low', 'high']) {
      const image = { type: 'input_image', image_url: PNG, detail };
      expect(terminal(await client.create({ input: asking(image) })).response.status).toBe('completed');
      const input = [
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [image] },
      ];
      expect(terminal(await client.create({ input })).response.status).toBe('completed');
    }
  },
);

overBoth('20. one that is no image is a 400 that names it', here, async (client) => {
  for (const image_url of [
    'data:image/png;base64,AA==',
    'data:text/plain,hi',
    'ftp://example.com/a.png',
    'nonsense',
    5,
  ]) {
    const events = await client.create({ input: asking({ type: 'input_image', image_url }) });
    expect(events).toMatchObject([
      { status: 400, error: { param: expect.stringMatching(/^input\[0\]\.content\[1\]/) } },
    ]);
  }
});
