import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { textOf, type WireItem, type WireUsage } from '../e2e/socket-client.js';
import { usage } from './response-shape.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { connect, overBoth, postJson, type Body } from './transports.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

interface Compaction {
  readonly id: string;
  readonly object: string;
  readonly created_at: number;
  readonly output: WireItem[];
  readonly usage: WireUsage;
}

async function compact(body: Body) {
  const { status, text } = await postJson(stand.url, body, {}, '/v1/responses/compact');
  return { status, body: JSON.parse(text) as Compaction & { error?: { param: string } } };
}
const say = (role: string, content: string) => ({ type: 'message', role, content });
const LONG = 'We agreed on many things that day. '.repeat(200);
const HISTORY = [say('user', `The word is marmalade. ${LONG}`), say('assistant', LONG), say('user', LONG)];
const isCompaction = ({ type }: WireItem) => type === 'compaction';

it('78. the endpoint answers a compaction with at least one compaction item, and its usage', async () => {
  const { status, body } = await compact({ input: HISTORY, prompt_cache_key: 'k' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    object: 'response.compaction',
    id: expect.any(String),
    created_at: expect.any(Number),
  });
  const items = body.output.filter(isCompaction);
  expect(items.length).toBeGreaterThan(0);
  for (const item of items)
    expect(item).toMatchObject({ id: expect.any(String), encrypted_content: expect.stringMatching(/./) });
  usage.parse(body.usage);
});

it('78. of a stored response as well', async () => {
  const parent = idOf(await (await connect('http', stand)).create({ input: HISTORY }));
  expect((await compact({ previous_response_id: parent })).body.output.some(isCompaction)).toBe(true);
  expect((await compact({ previous_response_id: 'resp_gone' })).status).toBe(400);
});

it.each([undefined, null, '', 5])('78. without a model it is a 400: %s', async (model) => {
  const { status, body } = await compact({ model, input: HISTORY });
  expect([status, body.error?.param]).toEqual([400, 'model']);
});

it('78. of a model that is not there it is a 404', async () => {
  expect((await compact({ model: 'nope', input: HISTORY })).status).toBe(404);
});

overBoth('79. its output with a user message behind it is the input of a new chain', here, async (client) => {
  const { output } = (await compact({ input: HISTORY })).body;
  const whole = await client.create({ input: [...HISTORY, say('user', 'And now?')], store: false });
  for (const store of [true, false]) {
    const events = await client.create({ input: [...output, say('user', 'And now?')], store });
    expect(textOf(events)).toContain('And now?');
    expect(terminal(events).response.usage?.input_tokens).toBeLessThan(
      terminal(whole).response.usage?.input_tokens ?? 0,
    );
  }
});

it('79. websocket-compact-new-chain', async () => {
  const { output } = (await compact({ input: HISTORY })).body;
  const client = await connect('websocket', stand);
  const events = await client.create({
    input: [...output, say('user', 'Go on from there.')],
    store: false,
    tools: [],
  });
  expect(terminal(events).response.status).toBe('completed');
  client.close();
});

overBoth(
  '80. a compaction_trigger as the last item gives exactly one compaction item, and is no item itself',
  here,
  async (client) => {
    const parent = idOf(await client.create({ input: HISTORY }));
    for (const body of [
      { input: [...HISTORY, { type: 'compaction_trigger' }] },
      { previous_response_id: parent, input: [{ type: 'compaction_trigger' }] },
    ]) {
      const events = await client.create(body);
      const { output, status } = terminal(events).response;
      expect([status, output.filter(isCompaction).length, output.length]).toEqual(['completed', 1, 1]);
      const items = await fetch(`${stand.url}/v1/responses/${idOf(events)}/input_items`);
      expect(await items.text()).not.toContain('compaction_trigger');
      // Codex goes on with what it keeps, and the compaction, in a new chain.
      const next = await client.create({
        input: [say('developer', 'Be brief.'), ...output, say('user', 'And now?')],
      });
      expect(textOf(next)).toContain('And now?');
    }
  },
);

overBoth('80. a trigger that is not the last item is a 400', here, async (client) => {
  const events = await client.create({ input: [{ type: 'compaction_trigger' }, say('user', 'x')] });
  expect(events).toMatchObject([{ status: 400, error: { param: expect.stringMatching(/^input\[0\]/) } }]);
});

overBoth(
  '81. over its threshold a chain is compacted in the stream, and the next turn is shorter',
  here,
  async (client) => {
    const context_management = [{ type: 'compaction', compact_threshold: 1_000 }];
    const first = await client.create({ input: HISTORY, context_management });
    expect(terminal(first).response.output.filter(isCompaction)).toHaveLength(1);
    const next = await client.create({
      previous_response_id: idOf(first),
      input: 'And now?',
      context_management,
    });
    expect(textOf(next)).toContain('And now?');
    expect(terminal(next).response.usage?.input_tokens).toBeLessThan(
      terminal(first).response.usage?.input_tokens ?? 0,
    );
    const short = await client.create({ input: 'x', context_management });
    expect(terminal(short).response.output.filter(isCompaction)).toEqual([]);
  },
);

overBoth('81. what compacts nothing is a 400', here, async (client) => {
  for (const context_management of [
    5,
    [{ type: 'nonsense' }],
    [{ type: 'compaction', compact_threshold: 'x' }],
    [{ type: 'compaction', compact_threshold: -1 }],
  ]) {
    const events = await client.create({ input: 'x', context_management });
    expect(events).toMatchObject([
      { status: 400, error: { param: expect.stringMatching(/^context_management/) } },
    ]);
  }
});

overBoth('78. a compaction of another server, or one that was changed, is a 400', here, async (client) => {
  const { output } = (await compact({ input: HISTORY })).body;
  const item = output.find(isCompaction);
  for (const encrypted_content of [
    'gAAAAA-of-another-server',
    `${String(item?.['encrypted_content']).slice(0, -4)}AAAA`,
  ]) {
    const events = await client.create({ input: [{ ...item, encrypted_content }, say('user', 'x')] });
    expect(events).toMatchObject([{ status: 400, error: { param: 'input[0].encrypted_content' } }]);
  }
});
