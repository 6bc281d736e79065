import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { FakeEngine } from '../../libs/inference/testing/fake-engine.js';
import { Books } from './books.js';
import { HandPlayed, type Asked, type Pair } from './hand-played.js';
import { endsOf, expectBookedIn, expectOneEndEach, responseOf } from './told.js';
import { SocketClient, textOf, type WireEvent } from './socket-client.js';

/** One for each test. */
const PAIRS = 19;
let played: HandPlayed;
let client: SocketClient;
let pair: Pair;
let model: string;
let taken = 0;

beforeAll(async () => {
  played = await HandPlayed.start(PAIRS);
});
afterAll(() => played.stop());
beforeEach(async () => {
  const next = played.pairs[taken];
  if (next === undefined) throw new Error('there are fewer pairs than tests');
  pair = next;
  model = `m${taken++}`;
  client = await SocketClient.connect(played.gateway.url);
});
afterEach(() => client.close());

const THINKS = '<|channel|>analysis<|message|>Let me see';
/** The next message of an output: what a steered one ends before. */
const SPEAKS = '<|end|><|start|>assistant<|channel|>final<|message|>Well';
const ANSWER = '<|channel|>final<|message|>fine<|return|>';
const CALL = '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>';
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

const all = (type: string) => client.events.filter((event) => event.type === type);
const ends = () => endsOf(client.events);
const deltas = () => client.events.filter(({ type }) => type.endsWith('.delta')).length;
const other = ({ engine }: Asked): FakeEngine | undefined => pair.engines.find((each) => each !== engine);

/** Starts a response whose engine has begun to think. */
async function begin(fields: object = {}): Promise<{ id: string; asked: Asked }> {
  client.send({ type: 'response.create', model, input: 'one', tools: TOOLS, ...fields });
  const asked = await pair.asked();
  asked.say(THINKS);
  await client.until(() => deltas() > 0);
  return { id: responseOf(all('response.created')[0]).id, asked };
}

const steer = (id: string) => client.send({ type: 'response.steer', previous_response_id: id, input: 'two' });

const expectBooked = (event: WireEvent | undefined, ...answers: readonly Asked[]) =>
  expectBookedIn(played.folder, event, answers);

/** The chain goes on behind a response, at the engine that is left, and the lane is free. */
async function expectGoesOn(id: string, engine: FakeEngine | undefined): Promise<Asked> {
  const before = ends().length;
  client.send({ type: 'response.create', model, input: 'and now', previous_response_id: id });
  const asked = await pair.asked();
  expect(asked.engine).toBe(engine);
  asked.finish(ANSWER);
  await client.until(() => ends().length > before);
  expect(ends().at(-1)).toMatchObject({ type: 'response.completed' });
  expect(all('error')).toEqual([]);
  expect(pair.hasMore).toBe(false);
  await expectBooked(ends().at(-1), asked);
  return asked;
}

/** A response that runs is continued from what came before it, which is stored. */
async function root(): Promise<string> {
  client.send({ type: 'response.create', model, input: 'zero' });
  (await pair.asked()).finish(ANSWER);
  await client.until(() => ends().length === 1);
  const { id } = responseOf(ends()[0]);
  client.events.length = 0;
  return id;
}

describe('an engine that is killed before a response ends for what steers it', () => {
  it.each([
    ['in a message', ''],
    ['between two', '<|end|>'],
    ['before it is said what the next one is', SPEAKS.slice(0, SPEAKS.lastIndexOf('<'))],
    ['where words stand in place of that', '<|end|><|start|>assistant<|channel|>final I am'],
  ])('%s ends it as failed with what there is, and gives the input back', async (_, last) => {
    const parent = await root();
    const { id, asked } = await begin({ previous_response_id: parent });
    steer(id);
    await client.until(() => all('response.steer.accepted').length === 1);
    const shown = deltas();
    asked.say(` now${last}`);
    await client.until(() => deltas() > shown);
    await asked.engine.stop();
    await client.until(() => all('response.steer.failed').length === 1);
    expect(ends()).toMatchObject([
      {
        type: 'response.failed',
        response: {
          id,
          error: { code: 'server_error' },
          output: [{ type: 'reasoning', content: [{ text: 'Let me see now' }] }],
        },
      },
    ]);
    expect(all('response.steer.failed')).toMatchObject([
      {
        error: { code: 'successor_creation_failed' },
        steer: { previous_response_id: id, input: [{ role: 'user', content: [{ text: 'two' }] }] },
      },
    ]);
    await expectBooked(ends()[0], asked);
    const next = await expectGoesOn(parent, other(asked));
    expect(next.prompt).toContain('zero');
    expect(next.prompt).not.toContain('two');
    expectOneEndEach(client.events);
  });

  it('also when the input arrives as it dies, which is answered once', async () => {
    const parent = await root();
    const { id, asked } = await begin({ previous_response_id: parent });
    const killed = asked.engine.stop();
    steer(id);
    await killed;
    await client.until(() => all('response.steer.failed').length === 1 && ends().length === 1);
    expect(ends()[0]).toMatchObject({ type: 'response.failed', response: { id } });
    const accepted = all('response.steer.accepted').length;
    expect(all('response.steer.failed')[0]).toMatchObject({
      error: { code: accepted === 1 ? 'successor_creation_failed' : expect.stringContaining('response_') },
      steer: { previous_response_id: id },
    });
    await expectBooked(ends()[0], asked);
    await expectGoesOn(parent, other(asked));
    expectOneEndEach(client.events);
  });

  it('takes the response to the other one where nothing was sampled yet, and it ends there at once', async () => {
    client.send({ type: 'response.create', model, input: 'one' });
    const asked = await pair.asked();
    steer(responseOf(all('response.created')[0]).id);
    await client.until(() => all('response.steer.accepted').length === 1);
    await asked.engine.stop();
    const moved = await pair.asked();
    expect(moved.engine).toBe(other(asked));
    moved.say(ANSWER);
    const successor = await pair.asked();
    successor.finish(ANSWER);
    await client.until(() => ends().length === 2);
    expect(ends()).toMatchObject([
      { type: 'response.incomplete', response: { incomplete_details: { reason: 'steered' }, output: [] } },
      { type: 'response.completed' },
    ]);
    await expectBooked(ends()[0], moved);
    await expectGoesOn(responseOf(ends()[1]).id, other(asked));
    expectOneEndEach(client.events);
  });
});

describe('an engine that is killed between a steered response and its successor', () => {
  it.each<[string, (asked: Asked) => void, (asked: Asked) => Promise<void>]>([
    ['before it is asked', ({ engine }) => engine.refuse(), () => Promise.resolve()],
    [
      'as it is asked',
      () => undefined,
      async () => {
        const again = await pair.asked();
        await again.engine.stop();
      },
    ],
    ['and resets the connection', () => undefined, async () => (await pair.asked()).reset()],
  ])('%s: the other one answers the successor', async (_, before, behind) => {
    const { id, asked } = await begin();
    steer(id);
    await client.until(() => all('response.steer.accepted').length === 1);
    before(asked);
    asked.say(SPEAKS);
    await asked.left;
    await behind(asked);
    const successor = await pair.asked();
    expect(successor.engine).toBe(other(asked));
    expect(successor.prompt).toContain('two');
    successor.finish(ANSWER);
    await client.until(() => ends().length === 2);
    expect(ends()).toMatchObject([
      {
        type: 'response.incomplete',
        response: { id, incomplete_details: { reason: 'steered' }, output: [{ type: 'reasoning' }] },
      },
      { type: 'response.completed', response: { previous_response_id: id } },
    ]);
    expect(all('response.steer.failed')).toEqual([]);
    await expectBooked(ends()[0], asked);
    await expectBooked(ends()[1], successor);
    await asked.engine.stop();
    const next = await expectGoesOn(responseOf(ends()[1]).id, other(asked));
    expect(next.prompt).toContain('fine');
    expectOneEndEach(client.events);
  });

  it('and the other one with it: the successor fails, and the lane is free', async () => {
    const { id, asked } = await begin();
    steer(id);
    await client.until(() => all('response.steer.accepted').length === 1);
    for (const engine of pair.engines) engine.refuse();
    asked.say(SPEAKS);
    await client.until(() => ends().length + all('response.steer.failed').length === 2);
    await expectBooked(ends()[0], asked);
    expect(responseOf(ends()[0])).toMatchObject({ id, status: 'incomplete' });
    expect(ends()[1]).toMatchObject({
      type: 'response.failed',
      response: { previous_response_id: id, output: [], usage: { output_tokens: 0 } },
    });
    const [refused] = await client.create({ model, input: 'more', previous_response_id: id });
    expect(refused).toMatchObject({ status: 503, error: { code: 'engine_unavailable' } });
    expectOneEndEach(client.events);
  });
});

describe('an engine that is killed while it answers what steered a response', () => {
  it.each([true, false])('ends the successor as failed with what it has shown (store: %s)', async (store) => {
    const { id, asked } = await begin({ store });
    steer(id);
    await client.until(() => all('response.steer.accepted').length === 1);
    asked.say(SPEAKS);
    const successor = await pair.asked();
    expect(successor.engine).toBe(asked.engine);
    const shown = deltas();
    successor.say('<|channel|>final<|message|>I hear');
    await client.until(() => deltas() > shown);
    await successor.engine.stop();
    await client.until(() => ends().length === 2);
    expect(ends()[1]).toMatchObject({ type: 'response.failed', response: { previous_response_id: id } });
    expect(textOf(ends())).toBe('I hear');
    expect(all('response.steer.failed')).toEqual([]);
    await expectBooked(ends()[0], asked);
    await expectBooked(ends()[1], successor);
    if (store) {
      const next = await expectGoesOn(id, other(asked));
      expect(next.prompt).toContain('one');
      expect(next.prompt).not.toContain('I hear');
    } else {
      // What is not stored goes with its failed continuation, as everywhere.
      const [gone] = await client.create({ model, input: 'more', previous_response_id: id });
      expect(gone).toMatchObject({ error: { code: 'previous_response_not_found' } });
    }
    expectOneEndEach(client.events);
  });

  it('with input for the one after that, which is given back', async () => {
    const { id, asked } = await begin();
    steer(id);
    await client.until(() => all('response.steer.accepted').length === 1);
    asked.say(SPEAKS);
    const successor = await pair.asked();
    const shown = deltas();
    successor.say(THINKS);
    await client.until(() => deltas() > shown);
    const second = responseOf(all('response.created')[1]).id;
    steer(second);
    await client.until(() => all('response.steer.accepted').length === 2);
    await successor.engine.stop();
    await client.until(() => all('response.steer.failed').length === 1);
    expect(all('response.steer.failed')[0]).toMatchObject({ steer: { previous_response_id: second } });
    expect(ends().map(({ type }) => type)).toEqual(['response.incomplete', 'response.failed']);
    await expectBooked(ends()[1], successor);
    await expectGoesOn(id, other(asked));
    expectOneEndEach(client.events);
  });
});

describe('a response that is interrupted as its engine dies', () => {
  const interrupt = (response_id: string) => client.send({ type: 'response.interrupt', response_id });

  it.each<[string, (id: string, asked: Asked) => Promise<void>]>([
    [
      'before',
      async (id, { engine }) => {
        interrupt(id);
        await client.until(() => all('response.interrupt.accepted').length === 1);
        await engine.stop();
      },
    ],
    [
      'at once',
      async (id, { engine }) => {
        const killed = engine.stop();
        interrupt(id);
        await killed;
      },
    ],
    [
      'with the last words that it sends',
      async (id, asked) => {
        interrupt(id);
        asked.say(' and then');
        asked.reset();
        await asked.engine.stop();
      },
    ],
  ])('%s ends once, as its client is told', async (_, act) => {
    const parent = await root();
    const { id, asked } = await begin({ previous_response_id: parent });
    await act(id, asked);
    const answers = () => all('response.interrupt.accepted').length + all('response.interrupt.failed').length;
    await client.until(() => ends().length === 1 && answers() === 1);
    const accepted = all('response.interrupt.accepted').length === 1;
    expect(ends()[0]).toMatchObject({
      type: accepted ? 'response.incomplete' : 'response.failed',
      response: { id },
    });
    const { id: ended, usage } = responseOf(ends()[0]);
    const { parts } = await new Books(played.folder).booked(ended);
    expect(parts.reduce((total, { tokens }) => total + tokens.output, 0)).toBe(usage?.output_tokens);
    await expectGoesOn(accepted ? id : parent, other(asked));
    expectOneEndEach(client.events);
  });
});

describe('a response whose client answers its calls while it runs', () => {
  const inject = (response_id: string) => {
    const call_id = all('response.output_item.done').find(({ item }) => item?.call_id)?.item?.call_id;
    const input = [{ type: 'function_call_output', call_id, output: 'found' }];
    client.send({ type: 'response.inject', response_id, input });
  };
  /** Starts a response that waits for the output of its call. */
  async function waiting(): Promise<{ id: string; asked: Asked }> {
    client.send({ type: 'response.create', model, input: 'one', tools: TOOLS, append: true });
    const asked = await pair.asked();
    asked.finish(CALL);
    await client.until(() => all('response.done').length === 1);
    return { id: responseOf(all('response.created')[0]).id, asked };
  }

  it('goes on at the other engine when its own has died before', async () => {
    const { id, asked } = await waiting();
    await asked.engine.stop();
    inject(id);
    const second = await pair.asked();
    expect(second.engine).toBe(other(asked));
    expect(second.prompt).toContain('found');
    second.finish(ANSWER);
    await client.until(() => ends().length === 1);
    expect(responseOf(ends()[0])).toMatchObject({
      status: 'completed',
      output: [{ type: 'function_call' }, { type: 'message' }],
    });
    await expectBooked(ends()[0], asked, second);
    await expectGoesOn(id, other(asked));
    expectOneEndEach(client.events);
  });

  it('ends as failed with all that it has when the engine dies behind them', async () => {
    const { id, asked } = await waiting();
    inject(id);
    const second = await pair.asked();
    second.say('<|channel|>final<|message|>I found');
    await client.until(() => all('response.output_text.delta').length > 0);
    await second.engine.stop();
    await client.until(() => ends().length === 1);
    expect(ends()[0]).toMatchObject({
      type: 'response.failed',
      response: { output: [{ type: 'function_call' }, { type: 'message', status: 'incomplete' }] },
    });
    await expectBooked(ends()[0], asked, second);
    const [gone] = await client.create({ model, input: 'more', previous_response_id: id });
    expect(gone).toMatchObject({ error: { code: 'previous_response_not_found' } });
    expectOneEndEach(client.events);
  });

  it('ends as failed when the engine dies as they are given', async () => {
    client.send({ type: 'response.create', model, input: 'one', tools: TOOLS });
    const asked = await pair.asked();
    asked.say(`${CALL}<|start|>assistant${CALL.slice(0, CALL.indexOf('}'))}`);
    await client.until(() => all('response.output_item.done').length === 1);
    const { id } = responseOf(all('response.created')[0]);
    inject(id);
    await client.until(() => all('response.inject.created').length === 1);
    await asked.engine.stop();
    await client.until(() => ends().length === 1);
    expect(ends()[0]).toMatchObject({
      type: 'response.failed',
      response: { id, output: [{ status: 'completed' }, { status: 'incomplete' }] },
    });
    await expectBooked(ends()[0], asked);
    expect(pair.hasMore).toBe(false);
    expectOneEndEach(client.events);
  });
});
