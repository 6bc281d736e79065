import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { textOf } from '../e2e/socket-client.js';
import { WEATHER } from './kinds.js';
import { responseShape } from './response-shape.js';
import { Stand } from '../e2e/stand.js';
import { terminal } from './stream-rules.js';
import { overBoth, postJson } from './transports.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

const MIB = 1024 * 1024;

describe('large requests', () => {
  const schema = (text: string) => ({
    type: 'object',
    properties: { a: { type: 'string', description: text } },
  });
  const tool = (description: string) => ({ ...WEATHER, description });

  overBoth(
    '52. lifecycle events stay below 1 MiB, whatever the tools, instructions and formats are made of',
    here,
    async (client) => {
      for (const unit of ['a', '\u0001', '語', '"']) {
        const long = unit.repeat(300_000 / unit.length);
        const most = unit.repeat(20_000 / unit.length);
        const requests = [
          { instructions: long },
          { tools: [tool(long)] },
          { tools: [tool(most), { type: 'web_search', filters: long }] },
          { instructions: unit.repeat(260_000 / unit.length), tools: [WEATHER] },
          {
            instructions: unit.repeat(40_000 / unit.length),
            text: { format: { type: 'json_schema', name: 'n', schema: schema(most) } },
          },
          {
            metadata: Object.fromEntries(
              Array.from({ length: 16 }, (_, index) => [`key${index}`, unit.repeat(512 / unit.length)]),
            ),
          },
        ];
        for (const request of requests) {
          const events = await client.create({ generate: false, store: false, input: 'x', ...request });
          expect(events).toHaveLength(3);
          for (const event of events) expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(MIB);
        }
      }
    },
  );

  overBoth('52. what is left out is still in force', here, async (client) => {
    stand.takePrompts();
    const events = await client.create({
      input: 'use it',
      instructions: `marmalade ${'i '.repeat(300_000)}`,
      tools: [WEATHER],
    });
    expect(terminal(events).response).toMatchObject({ instructions: null, tools: [] });
    expect(terminal(events).response.output.at(-1)).toMatchObject({ name: 'get_weather' });
    expect(stand.takePrompts()[0]).toContain('marmalade i i');
  });

  overBoth('52. usual ones are repeated in full', here, async (client) => {
    const request = { instructions: 'Be brief. '.repeat(2_000), tools: [tool('d'.repeat(20_000))] };
    for (const { response } of await client.create({ generate: false, ...request })) {
      expect(response).toMatchObject(request);
    }
  });
});

describe('limits and failures', () => {
  overBoth('53. max_output_tokens ends a response as incomplete, with its usage', here, async (client) => {
    for (const limit of [1, 2, 3, 16, 50]) {
      const events = await client.create({ input: 'x [sim tokens=200]', max_output_tokens: limit });
      expect(terminal(events).response).toMatchObject({
        status: 'incomplete',
        error: null,
        max_output_tokens: limit,
        incomplete_details: { reason: 'max_output_tokens' },
        usage: { output_tokens: limit },
      });
    }
    for (const limit of [1_000_000_000, null]) {
      const events = await client.create({ input: 'x', max_output_tokens: limit });
      expect(terminal(events).response.status).toBe('completed');
    }
  });

  overBoth('53. a limit that is none is a 400 on it', here, async (client) => {
    for (const max_output_tokens of [0, -1, 1.5, '20', [], true, 1e300]) {
      const events = await client.create({ input: 'x', max_output_tokens });
      expect(events).toMatchObject([{ status: 400, error: { param: 'max_output_tokens' } }]);
    }
  });

  overBoth('53. partial arguments stay as they are', here, async (client) => {
    const events = await client.create({
      input: 'some words',
      tools: [WEATHER],
      reasoning: { effort: 'low' },
      max_output_tokens: 16,
    });
    const [call] = terminal(events).response.output;
    expect(call).toMatchObject({ type: 'function_call', status: 'incomplete' });
    expect('{"city":"some words"}'.startsWith(call?.arguments ?? 'nothing')).toBe(true);
  });

  const FAILURES = [
    'die=0',
    'die=1',
    'die=8',
    'die=30',
    'error=0',
    'error=8',
    'status=400',
    'status=404',
    'status=500',
  ];
  overBoth(
    '54. a model that fails ends the response as failed, with a code and a message',
    here,
    async (client) => {
      for (const marker of FAILURES) {
        const events = await client.create({ input: `secret-prompt [sim ${marker} tokens=50]` });
        expect(events.at(-1)?.type).toBe('response.failed');
        expect([marker, terminal(events).response]).toMatchObject([
          marker,
          { status: 'failed', error: { code: 'server_error' }, incomplete_details: null, completed_at: null },
        ]);
        expect(JSON.stringify(terminal(events).response.error)).not.toMatch(/secret-prompt|127\.0\.0\.1|at /);
        // The next one is not touched by it.
        expect(textOf(await client.create({ input: 'y' }))).toContain('y');
      }
      for (const marker of ['status=429', 'status=503']) {
        const events = await client.create({ input: `x [sim ${marker}]` });
        const { error } = terminal(events).response as { error: { code: string; message?: string } };
        expect(error.code).toBe('rate_limit_exceeded');
        expect(error.message).toMatch(/try again in \d+(\.\d+)?s/);
      }
    },
  );

  it('54. without a stream it is an HTTP error, unless there is output to show', async () => {
    const refused = await postJson(stand.url, { input: 'x [sim status=500]' });
    expect(refused.status).toBe(502);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { type: 'server_error', param: null } });
    const partial = await postJson(stand.url, { input: 'x [sim die=8]' });
    expect([partial.status, JSON.parse(partial.text)]).toMatchObject([200, { status: 'failed' }]);
  });

  it('55. a response in JSON, stored or not, has the same shape', async () => {
    for (const request of [
      { input: 'x' },
      { input: 'x', tools: [WEATHER], store: false },
      { input: 'x', max_output_tokens: 3 },
    ]) {
      const { text } = await postJson(stand.url, request);
      const response = responseShape.parse(JSON.parse(text));
      if (!response.store) continue;
      const stored = await fetch(`${stand.url}/v1/responses/${response.id}`);
      expect(responseShape.parse(await stored.json())).toEqual(response);
    }
  });

  it('55. settings come back as they were sent, defaults where they were not', async () => {
    const sent = {
      temperature: 0,
      top_p: 0.5,
      top_logprobs: 3,
      max_output_tokens: 100,
      max_tool_calls: 2,
      parallel_tool_calls: false,
      truncation: 'auto',
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      service_tier: 'flex',
      metadata: { a: 'b' },
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      store: false,
    };
    const full = responseShape.parse(
      JSON.parse((await postJson(stand.url, { input: 'x', generate: false, ...sent })).text),
    );
    expect(full).toMatchObject(sent);
    const nulls = Object.fromEntries(Object.keys(sent).map((key) => [key, null]));
    const plain = responseShape.parse(
      JSON.parse((await postJson(stand.url, { input: 'x', generate: false, ...nulls })).text),
    );
    expect(plain).toMatchObject({
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      max_output_tokens: null,
      parallel_tool_calls: true,
      truncation: 'disabled',
      metadata: {},
      reasoning: { effort: null, summary: null },
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      store: true,
    });
  });
});
