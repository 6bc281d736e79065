import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { checkEvent } from './event-shape.js';
import { responseShape } from './response-shape.js';
import { Stand } from '../e2e/stand.js';
import { checkError, terminal } from './stream-rules.js';
import { connect, postJson, type Body } from './transports.js';

/**
 * The scenarios of the OpenResponses compliance suite (openresponses.org), by its names for them, as requests of our own.
 * Those about compaction and images come with these features.
 */
let stand: Stand;

beforeAll(async () => {
  // With the defaults, as a suite would find the server.
  stand = await Stand.start();
});
afterAll(() => stand.stop());

const say = (content: string, role = 'user') => ({ type: 'message', role, content });
const LOCATION = {
  type: 'function',
  name: 'lookup_temperature',
  description: 'How warm it is somewhere.',
  parameters: {
    type: 'object',
    properties: { place: { type: 'string', description: 'Town and country.' } },
    required: ['place'],
  },
};

/** A response in JSON that satisfies the schema and has output. */
async function respond(body: Body) {
  const { status, text } = await postJson(stand.url, body);
  expect(status).toBe(200);
  const response = responseShape.parse(JSON.parse(text));
  expect(response.status).toBe('completed');
  expect(response.output.length).toBeGreaterThan(0);
  return response;
}

/** Events that each satisfy their schema, up to a completed response. */
function expectCompleted(events: readonly WireEvent[]): void {
  events.forEach(checkEvent);
  const { response } = terminal(events);
  expect(response.status).toBe('completed');
  expect(response.output.length).toBeGreaterThan(0);
}

describe('OpenResponses over HTTP', () => {
  it('basic-response', async () => {
    await respond({ input: [say('Name three birds.')] });
  });

  it('assistant-phase', async () => {
    stand.takePrompts();
    await respond({
      input: [
        { ...say('I look the number up.', 'assistant'), phase: 'commentary' },
        { ...say('It is seven.', 'assistant'), phase: 'final_answer' },
        say('Only the number, please.'),
      ],
    });
    const [prompt] = stand.takePrompts();
    expect(prompt).toContain('<|channel|>commentary<|message|>I look the number up.');
    expect(prompt).toContain('<|channel|>final<|message|>It is seven.');
  });

  it('response-output-phase-schema', async () => {
    const { output } = await respond({ input: 'x [sim commentary=1 calls=1]', tools: [LOCATION] });
    const answer = await respond({ input: 'x' });
    const phases = [...output, ...answer.output].flatMap((item) =>
      item.type === 'message' ? [item.phase] : [],
    );
    expect(phases).toEqual(['commentary', 'final_answer']);
  });

  it('streaming-response', async () => {
    const client = await connect('http', stand);
    expectCompleted(await client.create({ input: [say('Count to four.')] }));
  });

  it('system-prompt', async () => {
    stand.takePrompts();
    await respond({ input: [say('Speak like a sailor.', 'system'), say('Good morning.')] });
    expect(stand.takePrompts()[0]).toMatch(/Speak like a sailor\.[^]*Good morning\./);
  });

  it('tool-calling', async () => {
    const { output, tools } = await respond({ input: [say('How warm is it in Bergen?')], tools: [LOCATION] });
    expect(output.at(-1)).toMatchObject({ type: 'function_call', name: 'lookup_temperature' });
    expect(tools).toEqual([{ ...LOCATION, strict: null }]);
  });

  it('tool-calling-streaming', async () => {
    const client = await connect('http', stand);
    const events = await client.create({ input: [say('How warm is it in Bergen?')], tools: [LOCATION] });
    expectCompleted(events);
    const types = events.map(({ type, item }) => `${type} ${item?.type ?? ''}`.trim());
    for (const expected of [
      'response.output_item.added function_call',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done function_call',
    ]) {
      expect(types).toContain(expected);
    }
  });

  it('multi-turn', async () => {
    stand.takePrompts();
    await respond({ input: [say('I am Nils.'), say('Hello Nils!', 'assistant'), say('Who am I?')] });
    expect(stand.takePrompts()[0]).toMatch(/I am Nils\.[^]*Hello Nils![^]*Who am I\?/);
  });

  it('all of them at once', async () => {
    const answers = Array.from({ length: 17 }, (_, index) => respond({ input: [say(`Number ${index}.`)] }));
    for (const response of await Promise.all(answers)) expect(response.status).toBe('completed');
  });
});

describe('OpenResponses over WebSocket', () => {
  const open = () => SocketClient.connect(stand.url, '/v1/responses', { 'content-type': 'application/json' });
  const notFound = (events: readonly WireEvent[]) => {
    expect(events).toMatchObject([
      { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    ]);
    if (events[0] !== undefined) checkError(events[0]);
  };

  it('websocket-response', async () => {
    const client = await open();
    expectCompleted(await client.create({ input: [say('Count to three.')] }));
    client.close();
  });

  it('websocket-sequential-responses', async () => {
    const client = await open();
    for (const word of ['first', 'second']) {
      const events = await client.create({ input: `Say only: ${word}`, store: false });
      expectCompleted(events);
      expect(textOf(events)).toContain(word);
    }
    client.close();
  });

  it('websocket-continuation', async () => {
    const client = await open();
    const first = await client.create({ input: 'Keep in mind: turquoise.', store: false });
    expectCompleted(first);
    stand.takePrompts();
    const second = await client.create({
      input: 'What was it?',
      store: false,
      previous_response_id: terminal(first).response.id,
    });
    expectCompleted(second);
    expect(stand.takePrompts()[0]).toContain('turquoise');
    client.close();
  });

  it('websocket-generate-false', async () => {
    const client = await open();
    const warm = await client.create({ input: 'Keep in mind: ochre.', store: false, generate: false });
    warm.forEach(checkEvent);
    expect(terminal(warm).response).toMatchObject({ status: 'completed', output: [] });
    const previous_response_id = terminal(warm).response.id;
    expectCompleted(await client.create({ input: 'What was it?', store: false, previous_response_id }));
    client.close();
  });

  it('websocket-reconnect-store-false-recovery', async () => {
    const first = await open();
    const { id } = terminal(await first.create({ input: 'Keep in mind: umber.', store: false })).response;
    first.close();
    await first.untilClosed();
    const second = await open();
    notFound(await second.create({ input: 'Go on.', store: false, previous_response_id: id }));
    expectCompleted(await second.create({ input: [say('From the start, then.')], store: false }));
    second.close();
  });

  it('websocket-previous-response-not-found', async () => {
    const client = await open();
    notFound(
      await client.create({ input: 'Go on.', store: false, previous_response_id: `resp_none_${Date.now()}` }),
    );
    client.close();
  });

  it('websocket-failed-continuation-evicts-cache', async () => {
    const client = await open();
    const { id } = terminal(await client.create({ input: 'Keep in mind: sienna.', store: false })).response;
    const orphan = [
      { type: 'function_call_output', call_id: 'call_of_nobody', output: 'Nobody asked for this.' },
    ];
    const [failed] = await client.create({ input: orphan, store: false, previous_response_id: id });
    expect(failed).toMatchObject({ type: 'error', status: 400 });
    if (failed !== undefined) checkError(failed);
    notFound(await client.create({ input: 'Go on all the same.', store: false, previous_response_id: id }));
    client.close();
  });
});
