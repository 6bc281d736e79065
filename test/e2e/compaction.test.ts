import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import OpenAI from 'openai';
import { keysOf } from './platform.js';
import { SocketClient, terminalOf, textOf, type WireEvent, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start(keysOf('ann', 'bob'));
});
afterAll(async () => {
  await stand.stop();
});
beforeEach(async () => {
  client = await SocketClient.connect(stand.url, '/v1/responses', { authorization: 'Bearer ann' });
  stand.prompts.length = 0;
});
afterEach(() => client.close());

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
const TRIGGER = { type: 'compaction_trigger' };
const user = (content: string) => ({ type: 'message', role: 'user', content });
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');

async function post(
  path: string,
  body: unknown,
  key = 'ann',
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${stand.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const promptLengths = () => stand.prompts.map(({ length }) => length);
const responseOf = (events: WireEvent[]) => terminalOf(events).response;

describe('compaction_trigger', () => {
  it('answers with exactly one compaction item, which stands for the conversation when it comes back', async () => {
    const first = await client.create({
      store: false,
      input: [{ role: 'developer', content: 'Rules.' }, user('alpha [sim calls=0]')],
    });
    const events = await client.create({
      store: false,
      previous_response_id: responseOf(first).id,
      input: [TRIGGER],
      tools: TOOLS,
    });
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
      'response.completed',
    ]);
    const { output, usage } = responseOf(events);
    expect(output).toEqual([
      { type: 'compaction', id: expect.stringMatching(/^cmp_/), encrypted_content: expect.any(String) },
    ]);
    expect(events[4]?.item).toEqual(output[0]);
    expect(usage?.output_tokens).toBeGreaterThan(0);
    expect(usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
    // A new chain, as Codex begins one, over either transport.
    const input = [{ role: 'developer', content: 'Rules.' }, output[0], user('beta [sim calls=0]')];
    const next = await client.create({ store: false, input });
    expect(textOf(next)).toContain('You said: "beta". (message 1');
    const prompt = o200kHarmony().decode(stand.prompts.at(-1) ?? []);
    expect(prompt).toMatch(/Notes on the earlier conversation[^]*You said: [^]*beta/);
    const { status, body } = await post('/v1/responses', { model: 'sim', store: false, input });
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('beta');
    expect(stand.prompts.at(-1)).toEqual(stand.prompts.at(-2));
  });

  it('works over HTTP, and is no item', async () => {
    const { body } = await post('/v1/responses', {
      model: 'sim',
      input: [user('alpha [sim calls=0]'), TRIGGER],
    });
    expect((body['output'] as WireItem[]).map(({ type }) => type)).toEqual(['compaction']);
    const answer = await fetch(`${stand.url}/v1/responses/${String(body['id'])}/input_items`, {
      headers: { authorization: 'Bearer ann' },
    });
    const { data } = (await answer.json()) as { data: WireItem[] };
    expect(data.map(({ type }) => type)).toEqual(['message']);
    // Continued by id, the conversation begins with its summary.
    const before = stand.prompts.at(-1)?.length ?? 0;
    const next = await post('/v1/responses', {
      model: 'sim',
      previous_response_id: body['id'],
      input: 'beta [sim calls=0]',
    });
    expect(JSON.stringify(next.body)).toContain('beta');
    expect(stand.prompts.at(-1)?.length).toBeLessThan(before + 200);
  });

  it('has to be the last item, and its calls answered', async () => {
    const misplaced = await client.create({ input: [TRIGGER, user('x')] });
    expect(misplaced.at(-1)?.error).toMatchObject({ code: 'invalid_value', param: 'input[0]' });
    const called = responseOf(await client.create({ input: 'x [sim calls=1]', tools: TOOLS }));
    const open = await client.create({ previous_response_id: called.id, input: [TRIGGER], tools: TOOLS });
    expect(open.at(-1)?.error?.code).toBe('tool_output_mismatch');
  });

  it('can be interrupted by leaving: the next request on another connection works', async () => {
    client.send({ type: 'response.create', model: 'sim', input: [user(words(3000)), TRIGGER] });
    client.close();
    const other = await SocketClient.connect(stand.url, '/v1/responses', { authorization: 'Bearer ann' });
    expect(textOf(await other.create({ input: 'still there' }))).toContain('still there');
    other.close();
  });
});

describe('a compaction item that comes back', () => {
  const compacted = async (): Promise<WireItem> => {
    const events = await client.create({ store: false, input: [user('alpha'), TRIGGER] });
    return responseOf(events).output[0] as WireItem;
  };

  it('is refused when it was changed, is somebody else’s, or was never ours', async () => {
    const item = await compacted();
    const text = String(item['encrypted_content']);
    const middle = Math.floor(text.length / 2);
    const changed = text.slice(0, middle) + (text[middle] === 'A' ? 'B' : 'A') + text.slice(middle + 1);
    for (const encrypted_content of [changed, 'gAAAA', '', text.slice(0, -4)]) {
      const events = await client.create({ input: [user('x'), { ...item, encrypted_content }] });
      expect(events.at(-1)?.error).toMatchObject({
        code: 'invalid_encrypted_content',
        param: 'input[1].encrypted_content',
      });
    }
    const { status, body } = await post('/v1/responses', { model: 'sim', input: [item, user('x')] }, 'bob');
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' },
    });
    const missing = await client.create({ input: [{ type: 'compaction' }] });
    expect(missing.at(-1)?.error).toMatchObject({ param: 'input[0].encrypted_content' });
  });

  it('does not take sealed reasoning for a summary, nor the other way round', async () => {
    const item = await compacted();
    const reasoning = responseOf(
      await client.create({ input: 'x', reasoning: { effort: 'medium' }, store: false }),
    ).output.find(({ type }) => type === 'reasoning');
    const swapped = [
      { ...item, encrypted_content: reasoning?.['encrypted_content'] },
      { ...reasoning, encrypted_content: item['encrypted_content'] },
    ];
    for (const input of swapped) {
      const events = await client.create({ input: [input, user('y')] });
      expect(events.at(-1)?.error?.code).toBe('invalid_encrypted_content');
    }
  });
});

describe('context_management', () => {
  const context_management = [{ type: 'compaction', compact_threshold: 400 }];

  it('compacts once the prompt is over the threshold, answers, and goes on shorter', async () => {
    const settings = { context_management, instructions: 'Be brief.', store: false };
    const short = await client.create({ ...settings, input: 'short [sim calls=0]' });
    expect(responseOf(short).output.map(({ type }) => type)).not.toContain('compaction');
    const long = await client.create({
      ...settings,
      previous_response_id: responseOf(short).id,
      input: `${words(300)} long [sim calls=0]`,
    });
    const types = long.map(({ type }) => type);
    expect(types.indexOf('response.compaction.compacting')).toBe(3);
    expect(responseOf(long).output.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['compaction', 'message']),
    );
    expect(responseOf(long).output[0]?.type).toBe('compaction');
    expect(textOf(long)).toContain('word0');
  });

  it('in the middle of a tool loop, keeps the calls that are being answered', async () => {
    const settings = { context_management, tools: TOOLS, store: false };
    const called = responseOf(await client.create({ ...settings, input: 'go [sim calls=1]' }));
    const call = called.output.find(({ type }) => type === 'function_call');
    const output = { type: 'function_call_output', call_id: call?.call_id, output: words(300) };
    const events = await client.create({ ...settings, previous_response_id: called.id, input: [output] });
    expect(responseOf(events).output[0]?.type).toBe('compaction');
    expect(textOf(events)).toMatch(/The tool said: "word0 .* You said: "go"\. \(message 1, 1 tool output\)/);
    const prompt = o200kHarmony().decode(stand.prompts.at(-1) ?? []);
    expect(prompt).toMatch(/go \[sim[^]*Notes on the earlier[^]*to=functions\.look[^]*word299/);
  });

  it('shortens what users said as well, as far as the threshold wants it', async () => {
    let previous: string | undefined;
    const settings = { context_management: [{ type: 'compaction', compact_threshold: 2_000 }], store: false };
    for (let turn = 0; turn < 6; turn++) {
      const named = previous === undefined ? {} : { previous_response_id: previous };
      const events = await client.create({ ...settings, ...named, input: `${words(300)} [sim calls=0]` });
      previous = responseOf(events).id;
      expect(promptLengths().at(-1)).toBeLessThan(2_000);
    }
    expect(client.events.some(({ type }) => type === 'response.compaction.compacting')).toBe(true);
  });

  it('writes notes in words where answers have a format, and lets them not count as the answer', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] };
    const text = { format: { type: 'json_schema', name: 'n', schema } };
    const input = `${words(300)} [sim calls=0]`;
    const events = await client.create({ context_management, text, input, max_output_tokens: 60 });
    expect(responseOf(events)).toMatchObject({ status: 'completed' });
    expect(JSON.parse(textOf(events))).toMatchObject({ a: expect.any(Number) });
    const [summary = [], answer = []] = stand.prompts;
    expect(o200kHarmony().decode(summary)).not.toContain('# Response Formats');
    expect(o200kHarmony().decode(answer)).toMatch(
      /# Response Formats[^]*Notes on the earlier conversation[^]*You said/,
    );
  });

  it('gives the same prompt by id, hydrated, and as a replay of all items or of those since the compaction', async () => {
    const settings = { context_management, tools: TOOLS };
    const said = user(`${words(300)} [sim calls=0]`);
    const first = await client.create({ ...settings, input: [said] });
    const { id, output } = responseOf(first);
    expect(output[0]?.type).toBe('compaction');
    const more = user('more [sim calls=0]');
    const later = { ...settings, context_management: [] };
    stand.prompts.length = 0;
    await client.create({ ...later, previous_response_id: id, input: [more] });
    await post('/v1/responses', { model: 'sim', ...later, previous_response_id: id, input: [more] });
    await client.create({ ...later, input: [said, ...output, more] });
    await client.create({ ...later, input: [...output, more] });
    const [byId, ...others] = stand.prompts;
    for (const prompt of others) expect(prompt).toEqual(byId);
    expect(others).toHaveLength(3);
  });

  it('is stored with its compaction item', async () => {
    const first = await client.create({
      context_management,
      input: `${words(300)} [sim calls=0]`,
      tools: TOOLS,
    });
    const api = new OpenAI({ apiKey: 'ann', baseURL: `${stand.url}/v1` });
    const stored = await api.responses.retrieve(responseOf(first).id);
    expect(stored.output).toEqual(responseOf(first).output);
  });

  it.each<[string, unknown, string]>([
    ['another strategy', [{ type: 'summary' }], 'context_management[0].type'],
    [
      'a threshold of 0',
      [{ type: 'compaction', compact_threshold: 0 }],
      'context_management[0].compact_threshold',
    ],
    ['no list', { type: 'compaction' }, 'context_management'],
  ])('refuses %s', async (_, value, param) => {
    const events = await client.create({ context_management: value, input: 'x' });
    expect(events.at(-1)?.error).toMatchObject({ param });
  });
});

describe('POST /v1/responses/compact', () => {
  it('gives a window: what users said, and one compaction item', async () => {
    const { status, body } = await post('/v1/responses/compact', {
      model: 'sim',
      input: [
        { role: 'developer', content: 'Speak Latin.' },
        user('alpha [sim calls=0]'),
        { role: 'assistant', content: 'done' },
        user('beta'),
      ],
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: expect.stringMatching(/^resp_/),
      object: 'response.compaction',
      created_at: expect.any(Number),
      usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
    });
    const output = body['output'] as WireItem[];
    expect(output.map(({ type, role }) => role ?? type)).toEqual(['user', 'user', 'compaction']);
    expect(JSON.stringify(output)).not.toContain('Latin');
    const next = await client.create({ input: [...output, user('gamma [sim calls=0]')] });
    expect(textOf(next)).toContain('You said: "gamma". (message 3');
    // What developers said comes back with the sealed item.
    const bare = await client.create({ input: [...output.slice(0, 2), user('gamma [sim calls=0]')] });
    const [withRules = 0, without = 0] = [next, bare].map(
      (events) => responseOf(events).usage?.input_tokens ?? 0,
    );
    expect(withRules).toBeGreaterThan(without + 10);
  });

  it('compacts a response by its id, and its own cannot be continued', async () => {
    const { id } = responseOf(await client.create({ input: 'alpha [sim calls=0]' }));
    const { body } = await post('/v1/responses/compact', { model: 'sim', previous_response_id: id });
    expect((body['output'] as WireItem[]).map(({ type }) => type)).toEqual(['message', 'compaction']);
    const gone = await post('/v1/responses', { model: 'sim', previous_response_id: body['id'], input: 'x' });
    expect(gone.body).toMatchObject({ error: { code: 'previous_response_not_found' } });
  });

  it('works with the openai SDK', async () => {
    const api = new OpenAI({ apiKey: 'ann', baseURL: `${stand.url}/v1` });
    const window = await api.responses.compact({ model: 'sim', input: 'alpha' });
    expect(window.output.map(({ type }) => type)).toEqual(['message', 'compaction']);
  });

  it.each<[string, unknown, string, string]>([
    ['no model', { input: 'x' }, 'missing_required_parameter', 'model'],
    ['nothing to compact', { model: 'sim' }, 'missing_required_parameter', 'input'],
    ['an empty input', { model: 'sim', input: [] }, 'missing_required_parameter', 'input'],
    ['an empty warm-up', { model: 'sim', generate: false }, 'missing_required_parameter', 'input'],
    ['an unknown model', { model: 'nope', input: 'x' }, 'model_not_found', 'model'],
    [
      'an unknown parent',
      { model: 'sim', previous_response_id: 'resp_x' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    ['a bad item', { model: 'sim', input: [{ type: 'nope' }] }, 'invalid_value', 'input[0].type'],
  ])('refuses %s', async (_, body, code, param) => {
    const answer = await post('/v1/responses/compact', body);
    expect(answer.body).toMatchObject({ error: { code, param } });
  });

  it('does not know another tenant’s response', async () => {
    const { id } = responseOf(await client.create({ input: 'alpha' }));
    const answer = await post('/v1/responses/compact', { model: 'sim', previous_response_id: id }, 'bob');
    expect(answer.body).toMatchObject({ error: { code: 'previous_response_not_found' } });
  });
});
