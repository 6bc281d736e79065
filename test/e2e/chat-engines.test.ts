import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sse } from '../../libs/inference/testing/fake-engine.js';
import { delta, MessageServer, usage } from '../../libs/inference/testing/message-server.js';
import { PATCH, WEATHER } from '../cases/harmony-texts.js';
import { idOf, terminal } from '../conformance/stream-rules.js';
import { connect, overBoth, postJson } from '../conformance/transports.js';
import { App } from './platform.js';
import { textOf } from './socket-client.js';

/** Conversations with a server that knows messages alone, as Ollama, LM Studio and hosted models do. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
let server: MessageServer;
let gateway: App;
const here = () => gateway;

beforeAll(async () => {
  server = await MessageServer.start('/v1/chat/completions');
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(
    config,
    [
      'port: 0',
      'store: { kind: memory }',
      `engines: { hosted: { url: "${server.url}", kind: chat, apiKeyEnv: HOSTED_KEY } }`,
      'models: { sim: { engine: hosted, engineModel: m, format: chat, images: { tokens: fixed, each: 100 } } }',
    ].join('\n'),
  );
  gateway = await App.start('gateway', ['--config', config], { HOSTED_KEY: 'sk-1' });
});
afterAll(async () => {
  await gateway.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const DONE = sse('[DONE]');
const call = (index: number, name: string, written: string) =>
  delta({
    tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: written } }],
  });

/** The last body, and the messages in it as text. */
function lastBody(): { body: Record<string, unknown>; messages: string } {
  const text = server.bodies.at(-1) ?? '';
  const body = JSON.parse(text) as Record<string, unknown>;
  return { body, messages: text.slice(text.indexOf('"messages":[')) };
}

describe('a tool loop', () => {
  overBoth('goes through, with the same bytes for the same history in every turn', here, async (client) => {
    const tools = [WEATHER, PATCH];
    const base = { tools, instructions: 'Be kind.', reasoning: { effort: 'low' } };
    server.play(
      [
        delta({ role: 'assistant', content: '' }),
        delta({ reasoning_content: 'two ' }),
        delta({ reasoning_content: 'cities' }),
        delta({ content: 'Let me look.' }),
        call(0, 'get_weather', '{"city":'),
        delta({ tool_calls: [{ index: 0, function: { arguments: '"서울"}' } }] }),
        call(1, 'get_weather', '{"city": "Łódź"}'),
        delta({}, 'tool_calls'),
        usage(50, 0, 20, 4),
        DONE,
      ],
      [call(0, 'apply_patch', '{"input":"*** \\"x\\""}'), delta({}, 'tool_calls'), usage(90, 60, 9, 0), DONE],
      [delta({ reasoning: 'fine' }), delta({ content: 'Sunny 🫠.' }, 'stop'), usage(120, 99, 7, 1), DONE],
      [delta({ content: 'You are welcome.' }, 'stop'), usage(150, 120, 5, 0), DONE],
    );
    const first = await client.create({ ...base, input: 'weather?' });
    const { response } = terminal(first);
    expect(response.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ]);
    expect(response.usage).toEqual({
      input_tokens: 50,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 70,
    });
    const one = lastBody();
    expect(one.body).toMatchObject({ model: 'm', stream: true, reasoning_effort: 'low' });
    expect(one.body).not.toHaveProperty('max_tokens');
    expect((one.body['tools'] as { function: { name: string } }[]).map(({ function: f }) => f.name)).toEqual([
      'get_weather',
      'apply_patch',
    ]);

    const calls = response.output.slice(2);
    const second = await client.create({
      ...base,
      previous_response_id: response.id,
      input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: '21 °C' })),
    });
    const two = lastBody();
    expect(two.messages.startsWith(one.messages.slice(0, -2))).toBe(true);
    const [, , spoken, ...outputs] = two.body['messages'] as Record<string, unknown>[];
    expect(spoken).toMatchObject({
      role: 'assistant',
      reasoning_content: 'two cities',
      content: 'Let me look.',
    });
    expect((spoken?.['tool_calls'] as { id: string }[]).map(({ id }) => id)).toEqual(
      calls.map(({ call_id }) => call_id),
    );
    expect(outputs.map(({ role, tool_call_id: id }) => [role, id])).toEqual(
      calls.map(({ call_id }) => ['tool', call_id]),
    );
    const [patch] = terminal(second).response.output;
    expect(patch).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** "x"' });
    expect(terminal(second).response.usage?.input_tokens_details.cached_tokens).toBe(60);

    const third = await client.create({
      ...base,
      previous_response_id: idOf(second),
      input: [{ type: 'custom_tool_call_output', call_id: patch?.call_id, output: 'applied' }],
    });
    expect(textOf(third)).toBe('Sunny 🫠.');
    const three = lastBody();
    expect(three.messages.startsWith(two.messages.slice(0, -2))).toBe(true);

    const fourth = await client.create({ ...base, previous_response_id: idOf(third), input: 'thanks' });
    expect(textOf(fourth)).toBe('You are welcome.');
    // What was reasoned in a turn that is over is not sent again.
    expect(lastBody().messages).not.toContain('reasoning_content');
    expect(lastBody().messages).toContain('Sunny 🫠.');
  });
});

describe('reasoning goes back in the field that it came in', () => {
  const details = [
    { type: 'reasoning.text', text: 'let me think', format: 'f', index: 0, signature: 's==' },
    { type: 'reasoning.encrypted', data: 'AAA', format: 'f', index: 1 },
  ];
  const piece = (index: number, fields: object) =>
    delta({ reasoning: 'x', reasoning_details: [{ type: 'reasoning.text', format: 'f', index, ...fields }] });
  const FIELDS: [string, unknown[], Record<string, unknown>][] = [
    [
      'reasoning_content',
      [delta({ reasoning_content: 'let me ' }), delta({ reasoning_content: 'think' })],
      { reasoning_content: 'let me think' },
    ],
    [
      'reasoning',
      [delta({ reasoning: 'let me ' }), delta({ reasoning: 'think' })],
      { reasoning: 'let me think' },
    ],
    [
      'reasoning_details',
      [
        piece(0, { text: 'let me ' }),
        piece(0, { text: 'think', signature: null }),
        piece(0, { text: '', signature: 's==' }),
        delta({ reasoning_details: [details[1]] }),
      ],
      { reasoning_details: details },
    ],
  ];

  describe.each(FIELDS)('%s', (name, thoughts, field) => {
    overBoth('for the tool loop, in the same bytes', here, async (client) => {
      const base = { tools: [WEATHER], store: true };
      const called = [call(0, 'get_weather', '{"city":"Oslo"}'), delta({}, 'tool_calls'), DONE];
      server.play(
        [...thoughts, ...called],
        [...thoughts, delta({ content: 'Once more.' }), ...called],
        [delta({ content: 'Sunny.' }, 'stop'), DONE],
        [delta({ content: 'Bye.' }, 'stop'), DONE],
      );
      let events = await client.create({ ...base, input: 'weather?' });
      let before = lastBody().messages.slice(0, -2);
      for (const _ of [1, 2]) {
        const { id, output } = terminal(events).response;
        const { call_id } = output.at(-1) ?? {};
        const input = [{ type: 'function_call_output', call_id, output: 'ok' }];
        events = await client.create({ ...base, previous_response_id: id, input });
        const { messages } = lastBody();
        expect(messages.startsWith(before)).toBe(true);
        before = messages.slice(0, -2);
      }
      const spoken = (lastBody().body['messages'] as Record<string, unknown>[]).filter(
        ({ role }) => role === 'assistant',
      );
      expect(spoken).toHaveLength(2);
      for (const message of spoken) {
        expect(message).toMatchObject(field);
        expect(Object.keys(message).filter((key) => key.startsWith('reasoning'))).toEqual([name]);
        expect(message['tool_calls']).toHaveLength(1);
      }
      await client.create({ ...base, previous_response_id: idOf(events), input: 'thanks' });
      // A turn that is over is sent without what was reasoned in it, and is whole without it.
      expect(lastBody().messages).not.toContain('reasoning');
      const roles = (lastBody().body['messages'] as { role: string }[]).map(({ role }) => role);
      expect(roles).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant', 'user']);
    });
  });

  it('for a client that brings the whole history itself', async () => {
    const client = await connect('http', here());
    const tools = [WEATHER];
    server.play(
      [delta({ reasoning: 'hm' }), call(0, 'get_weather', '{"city":"Oslo"}'), delta({}, 'tool_calls'), DONE],
      [delta({ content: 'Sunny.' }, 'stop'), DONE],
    );
    const include = ['reasoning.encrypted_content'];
    const first = await client.create({ tools, store: false, include, input: 'weather?' });
    const { output } = terminal(first).response;
    const history = [
      { role: 'user', content: 'weather?' },
      ...output,
      { type: 'function_call_output', call_id: output.at(-1)?.call_id, output: 'ok' },
    ];
    await client.create({ tools, store: false, input: history });
    const [, spoken] = lastBody().body['messages'] as Record<string, unknown>[];
    expect(spoken).toMatchObject({ role: 'assistant', reasoning: 'hm' });
    expect(spoken).not.toHaveProperty('reasoning_content');
  });
});

describe('what a request asks for', () => {
  const ask = async (body: Record<string, unknown>, ...answers: unknown[][]) => {
    const from = server.bodies.length;
    server.play(...answers);
    const client = await connect('http', here());
    const events = await client.create(body);
    const bodies = server.bodies.slice(from).map((text) => JSON.parse(text) as Record<string, unknown>);
    return { ...terminal(events), events, bodies };
  };
  const SAID = [delta({ content: '{"a":1}' }, 'stop'), DONE];

  it('is passed on: format, limit, sampling, and one call at a time', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'integer' } },
      required: ['a'],
      additionalProperties: false,
    };
    const { bodies, response } = await ask(
      {
        input: 'x',
        tools: [WEATHER],
        parallel_tool_calls: false,
        max_output_tokens: 100,
        temperature: 0.2,
        text: { format: { type: 'json_schema', name: 'p', strict: true, schema } },
      },
      SAID,
    );
    expect(response.status).toBe('completed');
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).toMatchObject({
      max_tokens: 100,
      temperature: 0.2,
      parallel_tool_calls: false,
      response_format: { type: 'json_schema', json_schema: { name: 'p', strict: true, schema } },
    });
    expect(bodies[0]).not.toHaveProperty('tool_choice');
    // Without a count of the server there is an estimate.
    expect(response.usage?.output_tokens).toBeGreaterThan(2);
    expect(response.usage?.input_tokens).toBeGreaterThan(20);
  });

  it('is insisted on where the model does something else, once, behind what it said', async () => {
    const made = [call(0, 'get_weather', '{"city":"Oslo"}'), delta({}, 'tool_calls'), DONE];
    const { bodies, response } = await ask(
      { input: 'x', tools: [WEATHER], tool_choice: { type: 'function', name: 'get_weather' } },
      [delta({ reasoning_content: 'hm' }), delta({ content: 'No call.' }, 'stop'), DONE],
      made,
    );
    const choice = { type: 'function', function: { name: 'get_weather' } };
    expect(bodies.map((body) => body['tool_choice'])).toEqual([choice, choice]);
    expect(JSON.stringify(bodies[1]?.['messages'])).toContain('No call.');
    expect(response.output.at(-1)).toMatchObject({ type: 'function_call', arguments: '{"city":"Oslo"}' });
  });

  it('is images as well', async () => {
    const url =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const content = [
      { type: 'input_text', text: 'what is it?' },
      { type: 'input_image', image_url: url },
    ];
    const { bodies } = await ask({ input: [{ role: 'user', content }] }, SAID);
    expect(bodies[0]?.['messages']).toMatchObject([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ]);
  });

  it('is a compaction: a summary that the model writes, and a conversation behind it', async () => {
    const begun = await ask({ input: 'a long story' }, [delta({ content: 'indeed' }, 'stop'), DONE]);
    const compacted = await ask(
      { previous_response_id: begun.response.id, input: [{ type: 'compaction_trigger' }] },
      [delta({ content: 'They told a story.' }, 'stop'), DONE],
    );
    expect(compacted.response.output.map(({ type }) => type)).toEqual(['compaction']);
    const next = await ask({ previous_response_id: compacted.response.id, input: 'and?' }, SAID);
    expect(JSON.stringify(next.bodies[0]?.['messages'])).toContain('They told a story.');
  });

  it.each([
    ['content_filter', 'content_filter'],
    ['length', 'max_output_tokens'],
  ])('ends with %s as incomplete', async (finish, reason) => {
    const { response } = await ask({ input: 'x' }, [
      delta({ content: 'half' }, finish),
      usage(9, 0, 3, 0),
      DONE,
    ]);
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
    expect(response.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
    expect(response.usage?.output_tokens).toBe(3);
  });

  it('fails once when the server breaks off, and the chain goes on', async () => {
    const begun = await ask({ input: 'x' }, SAID);
    const failed = await ask({ previous_response_id: begun.response.id, input: 'y' }, [
      delta({ reasoning_content: 'hm' }),
      delta({ content: 'half an' }),
    ]);
    expect(failed.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(failed.response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(failed.response.usage?.output_tokens).toBeGreaterThan(1);
    const next = await ask({ previous_response_id: begun.response.id, input: 'y' }, SAID);
    expect(next.response.status).toBe('completed');
  });

  it('and the key never shows', async () => {
    const answer = await postJson(gateway.url, { input: 'x' });
    expect(answer.text + gateway.output()).not.toContain('sk-1');
  });
});
