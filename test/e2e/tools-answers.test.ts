import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBoth, TRANSPORTS, type Body } from '../conformance/transports.js';
import { harmony } from '@turnpike/formats';
import { App, FAST, startPlatform } from './platform.js';
import { Recorder } from './recorder.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

/** Structured output: what is completed is what was asked for. */
const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
const formatOf = (schema: unknown) => ({ format: { type: 'json_schema', name: 'p', strict: true, schema } });

let app: App;
let clients: Awaited<ReturnType<typeof connectBoth>>;

beforeAll(async () => {
  app = await startPlatform();
  clients = await connectBoth(app);
});
afterAll(async () => {
  clients.websocket.close();
  await app.stop();
});

describe.each(TRANSPORTS)('text.format over %s', (transport) => {
  const create = (body: Body) => clients[transport].create(body);

  it.each(['low', 'medium', 'high'])('is kept at effort %s', async (effort) => {
    const events = await create({
      input: 'A made-up person.',
      text: formatOf(PERSON),
      reasoning: { effort },
    });
    expect(terminalOf(events).response.status).toBe('completed');
    expect(Object.keys(JSON.parse(textOf(events)) as object).sort()).toEqual(['age', 'name']);
  });

  it('fails a response rather than complete it with something else', async () => {
    const input = 'A made-up person. [sim badjson=1]';
    const events = await create({ input, text: formatOf(PERSON) });
    expect(events.at(-1)?.type).toBe('response.failed');
    expect(terminalOf(events).response).toMatchObject({
      status: 'failed',
      error: {
        code: 'server_error',
        message: "The model's answer is not what 'text.format' asks for: it is not valid JSON.",
      },
    });
    // The model cannot honour a pattern.
    const marmalade = { type: 'string', pattern: '^Z$' };
    const schema = { type: 'object', properties: { marmalade }, required: ['marmalade'] };
    const unmatched = await create({ input: 'A word.', text: formatOf(schema) });
    expect(terminalOf(unmatched).response.error?.code).toBe('server_error');
    expect(JSON.stringify(unmatched.at(-1))).toContain("pattern at '#/properties/marmalade/pattern'");
    expect(app.output()).toContain('turn failed');
    expect(app.output()).not.toContain('marmalade');
  });

  it('leaves an incomplete answer incomplete', async () => {
    const events = await create({
      input: 'A made-up person.',
      text: formatOf(PERSON),
      reasoning: { effort: 'low' },
      max_output_tokens: 6,
    });
    expect(terminalOf(events).response.status).toBe('incomplete');
  });

  it('does not bind calls', async () => {
    const events = await create({ input: 'x', tools: [WEATHER], text: formatOf(PERSON) });
    expect(terminalOf(events).response.status).toBe('completed');
    expect(terminalOf(events).response.output.at(-1)?.type).toBe('function_call');
  });

  it('of any JSON object is an object', async () => {
    const events = await create({ input: 'JSON please', text: { format: { type: 'json_object' } } });
    expect(JSON.parse(textOf(events))).toEqual({});
  });

  it.each<[string, unknown]>([
    ['no object', 'person'],
    ['an unknown reference', { $ref: '#/$defs/nope' }],
    ['a type that is none', { type: 'human' }],
  ])('with a schema that is %s is a 400', async (_schema, schema) => {
    const events = await create({ input: 'x', text: formatOf(schema) });
    expect(events).toHaveLength(1);
    expect(events[0]?.error?.type).toBe('invalid_request_error');
    expect(events[0]?.error?.param).toBe('text.format.schema');
  });

  it('ends a schema that would stall', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^(\\w+ ?)+$' } },
      required: ['name'],
    };
    const events = await create({ input: `${'a'.repeat(59)}!`, text: formatOf(schema) });
    expect(terminalOf(events).response.status).toBe('failed');
    expect((await create({ input: 'still here' })).at(-1)?.type).toBe('response.completed');
  });
});

describe('an engine that takes a grammar', () => {
  it('gets the schema with the answer alone, never with the reasoning', async () => {
    const engine = await App.start('engine', ['--port', '0', '--model', 'sim', ...FAST]);
    const recorder = await Recorder.start(engine.url);
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
    const config = join(folder, 'turnpike.yaml');
    writeFileSync(
      config,
      [
        'port: 0',
        `engines: { engine: { url: "${recorder.url}", kind: vllm } }`,
        'models: { sim: { engine: engine } }',
      ].join('\n'),
    );
    const gateway = await App.start('gateway', ['--config', config]);
    const client = await SocketClient.connect(gateway.url);
    try {
      const events = await client.create({ input: 'A made-up person.', text: formatOf(PERSON) });
      expect(terminalOf(events).response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
      expect(Object.keys(JSON.parse(textOf(events)) as object).sort()).toEqual(['age', 'name']);
      const [first = [], second = []] = recorder.prompts;
      const { tokenizer } = harmony();
      expect(tokenizer.decode(first)).toMatch(/<\|start\|>assistant$/);
      expect(tokenizer.decode(second)).toMatch(
        /<\|start\|>assistant<\|channel\|>analysis<\|message\|>.*<\|end\|><\|start\|>assistant<\|channel\|>final<\|message\|>$/,
      );
      const next = await client.create({
        previous_response_id: terminalOf(events).response.id,
        input: 'and now?',
      });
      expect(terminalOf(next).response.status).toBe('completed');
    } finally {
      client.close();
      await gateway.stop();
      await recorder.stop();
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
