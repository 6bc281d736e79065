import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { checkStream, idOf, terminal } from './stream-rules.js';
import { postJson, type Body } from './transports.js';

let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start(['limits: { resumeMs: 0 }', 'store: { kind: memory }']);
});
afterAll(() => stand.stop());
beforeEach(async () => {
  client = await SocketClient.connect(stand.url);
});
afterEach(() => client.close());

const isEnd = ({ type }: WireEvent) => /^(error|response\.(completed|incomplete|failed))$/.test(type);
const ORPHAN = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }];

function send(body: Body): void {
  client.send({ type: 'response.create', model: 'sim', store: false, ...body });
}

/** Waits for this many ends, and returns all events. */
async function ended(count: number): Promise<WireEvent[]> {
  await client.until(() => client.events.filter(isEnd).length >= count);
  return client.events;
}

const ofLane = (events: readonly WireEvent[], lane: string | undefined) =>
  events.filter(({ stream_id }) => stream_id === lane);

/** Splits events of one lane into its responses. */
function turnsOf(events: readonly WireEvent[]): WireEvent[][] {
  const turns: WireEvent[][] = [[]];
  for (const event of events) {
    turns.at(-1)?.push(event);
    if (isEnd(event)) turns.push([]);
  }
  return turns.slice(0, -1);
}

async function create(body: Body): Promise<WireEvent[]> {
  const events = await client.create({ store: false, ...body });
  checkStream(events);
  return events;
}

describe('a lane', () => {
  it.each(['a', 'A.b_c-9', '.', '-', '0', 'x'.repeat(256), '__proto__', 'constructor'])(
    '70. is echoed on every event of its responses and errors: %s',
    async (stream_id) => {
      for (const body of [
        { input: 'x' },
        { input: 'x', generate: false },
        { input: 'x', max_output_tokens: 2 },
        { input: 'x [sim die=3]' },
        { input: 'x [sim calls=1]', tools: [{ type: 'function', name: 'f' }] },
        { input: 'x', model: 'nope' },
        { input: 5 },
        { input: ORPHAN },
        { input: 'x', previous_response_id: 'resp_gone' },
        { input: 'x', background: true },
      ]) {
        client.events.length = 0;
        send({ stream_id, ...body });
        for (const event of await ended(1))
          expect([event.type, event.stream_id]).toEqual([event.type, stream_id]);
      }
    },
  );

  it('70. is absent on the default lane, and on what belongs to no lane', async () => {
    send({ input: 'x' });
    send({ input: 5 });
    send({ input: 'x', stream_id: null });
    await ended(3);
    client.send('not json');
    client.send({ type: 'response.interrupt', response_id: 'resp_1' });
    await client.until(() => client.events.at(-1)?.type === 'response.interrupt.failed');
    for (const event of client.events) expect(event).not.toHaveProperty('stream_id');
  });

  it('71. runs beside the others: a slow one does not hold up a quick one', async () => {
    send({ stream_id: 'slow', input: 'x [sim stall=400 tokens=60]' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    for (const stream_id of ['quick', undefined, 'other']) {
      expect(textOf(await create({ stream_id, input: 'quick one' }))).toContain('quick one');
    }
    expect(ofLane(client.events, 'slow').some(isEnd)).toBe(false);
    checkStream(ofLane(await ended(4), 'slow'));
  });

  it('71. their events interleave, each numbered for itself', async () => {
    for (const stream_id of ['a', 'b']) send({ stream_id, input: `x [sim stall=150 tokens=30]` });
    const events = await ended(2);
    const begun = events.slice(0, events.findIndex(isEnd)).filter(({ type }) => type === 'response.created');
    expect(new Set(begun.map(({ stream_id }) => stream_id))).toEqual(new Set(['a', 'b']));
    for (const lane of ['a', 'b']) checkStream(ofLane(events, lane));
  });

  it('71. runs its own responses one after the other, in order, errors in their place', async () => {
    const inputs = ['one [sim stall=60 tokens=20]', 5, 'two', ORPHAN, 'three [sim die=3]', 'four'];
    for (const input of inputs) for (const stream_id of ['a', 'b']) send({ stream_id, input });
    const events = await ended(2 * inputs.length);
    for (const lane of ['a', 'b']) {
      const turns = turnsOf(ofLane(events, lane));
      for (const turn of turns) checkStream(turn);
      expect(turns.map((turn) => turn.at(-1)?.type)).toEqual([
        'response.completed',
        'error',
        'response.completed',
        'error',
        'response.failed',
        'response.completed',
      ]);
    }
  });

  it('72. the 17th response waits for a place, wherever it is, and completes', async () => {
    const lanes = Array.from({ length: 16 }, (_, index) => `lane${index}`);
    for (const stream_id of lanes) send({ stream_id, input: 'x [sim stall=400 tokens=30]' });
    await client.until(() => client.events.filter(({ type }) => type === 'response.created').length === 16);
    for (const stream_id of ['lane16', undefined, 'lane0', 'lane17']) send({ stream_id, input: 'late' });
    const events = await ended(20);
    let running = 0;
    for (const { type } of events) {
      if (type === 'response.created') running++;
      expect(running).toBeLessThanOrEqual(16);
      if (type === 'response.completed') running--;
    }
    expect(events.filter(({ type }) => type === 'response.completed')).toHaveLength(20);
    expect(events.filter(({ type }) => type === 'error')).toEqual([]);
  });

  it.each([
    ['empty', ''],
    ['too long', 'x'.repeat(257)],
    ['a blank', 'a b'],
    ['blanks around', ' a '],
    ['a slash', 'a/b'],
    ['a colon', 'a:b'],
    ['an umlaut', 'ä'],
    ['an emoji', '😀'],
    ['a line break', 'a\n'],
    ['a null byte', 'a\u0000'],
    ['a number', 5],
    ['zero', 0],
    ['false', false],
    ['a list', ['a']],
    ['an object', {}],
  ])(
    '73. has a name of 1 to 256 letters, digits and _.-: %s is invalid_stream_id',
    async (_name, stream_id) => {
      send({ stream_id, input: 'x' });
      await client.until(() => client.events.length > 0);
      expect(client.events).toEqual([
        expect.objectContaining({
          type: 'error',
          status: 400,
          error: expect.objectContaining({
            type: 'invalid_request_error',
            code: 'invalid_stream_id',
            param: 'stream_id',
          }),
        }),
      ]);
      expect(client.events[0]).not.toHaveProperty('stream_id');
      checkStream(client.events);
      expect((await create({ input: 'y' })).at(-1)?.type).toBe('response.completed');
    },
  );

  it('73. is no business of an HTTP request', async () => {
    for (const stream_id of ['a', '', 5]) {
      const { status, text } = await postJson(stand.url, { input: 'x', stream_id });
      expect([status, JSON.parse(text)]).toMatchObject([400, { error: { param: 'stream_id' } }]);
    }
    expect((await postJson(stand.url, { input: 'x', stream_id: null })).status).toBe(200);
  });

  it('74. is one of 32 for the life of a connection; the 33rd is refused, the others and the default lane go on', async () => {
    const lanes = Array.from({ length: 32 }, (_, index) => `lane${index}`);
    // The default lane, names that are none, and a request that fails count as they should.
    await create({ input: 'x', generate: false });
    for (const stream_id of ['', 'not one']) send({ stream_id, input: 'x' });
    await ended(3);
    for (const stream_id of lanes)
      await create({ stream_id, input: stream_id === 'lane7' ? 5 : 'x', generate: false });
    for (const stream_id of ['lane32', 'LANE0', 'another']) {
      const events = await create({ stream_id, input: 'x' });
      expect(events).toMatchObject([
        {
          status: 400,
          stream_id,
          error: {
            type: 'invalid_request_error',
            code: 'websocket_stream_limit_reached',
            param: 'stream_id',
          },
        },
      ]);
    }
    for (const stream_id of [undefined, ...lanes]) {
      expect((await create({ stream_id, input: 'x', generate: false })).at(-1)?.type).toBe(
        'response.completed',
      );
    }
    // Another connection has 32 of its own.
    const other = await SocketClient.connect(stand.url);
    checkStream(await other.create({ stream_id: 'lane32', input: 'x' }));
    other.close();
  });
});

describe('a fork', () => {
  it('75. inherits the context of the lane it comes from, which goes on by itself', async () => {
    const root = await create({ stream_id: 'main', input: 'remember marmalade' });
    stand.takePrompts();
    send({
      stream_id: 'fork',
      previous_response_id: idOf(root),
      input: 'fork side [sim stall=200 tokens=30]',
    });
    await client.until(() =>
      ofLane(client.events, 'fork').some(({ type }) => type === 'response.in_progress'),
    );
    const next = await create({ stream_id: 'main', previous_response_id: idOf(root), input: 'main side' });
    const more = await create({ stream_id: 'main', previous_response_id: idOf(next), input: 'main again' });
    expect(textOf(more)).toContain('message 3');
    const [, end] = [await ended(4), turnsOf(ofLane(client.events, 'fork')).at(-1) ?? []];
    checkStream(end);
    expect(textOf(end)).toContain('message 2');
    for (const prompt of stand.takePrompts()) {
      expect(prompt).toContain('remember marmalade');
      expect(['fork side', 'main side'].filter((text) => prompt.includes(text))).toHaveLength(1);
    }
  });

  it('75. may be made in many lanes at once, from a fork, and back into the lane it came from', async () => {
    const root = await create({ input: 'root' });
    const lanes = ['a', 'b', 'c', 'd'];
    for (const stream_id of lanes)
      send({ stream_id, previous_response_id: idOf(root), input: `side ${stream_id}` });
    await ended(1 + lanes.length);
    const forks = lanes.map((lane) => idOf(ofLane(client.events, lane)));
    for (const [index, fork] of forks.entries()) {
      const stream_id = lanes[(index + 1) % lanes.length];
      const events = await create({ stream_id, previous_response_id: fork, input: 'on' });
      expect(textOf(events)).toContain('message 3');
    }
    const back = await create({ previous_response_id: forks[0], input: 'back' });
    expect(textOf(back)).toContain('message 3');
  });

  it('75. goes on when its parent’s lane has failed meanwhile', async () => {
    const root = await create({ stream_id: 'main', input: 'root' });
    send({ stream_id: 'fork', previous_response_id: idOf(root), input: 'x [sim stall=200 tokens=30]' });
    await client.until(() =>
      ofLane(client.events, 'fork').some(({ type }) => type === 'response.in_progress'),
    );
    await create({ stream_id: 'main', previous_response_id: idOf(root), input: ORPHAN });
    await client.until(() => ofLane(client.events, 'fork').some(isEnd));
    const events = ofLane(client.events, 'fork');
    checkStream(events);
    expect(textOf(events)).toContain('message 2');
  });

  it.each<[string, Body]>([
    ['an orphan output', { input: ORPHAN }],
    ['an unknown model', { input: 'x', model: 'nope' }],
    ['an engine that dies', { input: 'x [sim die=3]' }],
  ])(
    '76. that fails leaves its parent alone; a continuation in the same lane does not: %s',
    async (_name, failing) => {
      const root = idOf(await create({ stream_id: 'main', input: 'root' }));
      for (const stream_id of ['critic', undefined, 'critic']) {
        const events = await create({ stream_id, previous_response_id: root, ...failing });
        expect(events.at(-1)?.type).toMatch(/^(error|response\.failed)$/);
      }
      expect((await create({ stream_id: 'main', previous_response_id: root, input: 'y' })).at(-1)?.type).toBe(
        'response.completed',
      );
      await create({ stream_id: 'main', previous_response_id: root, ...failing });
      for (const stream_id of ['main', 'critic', undefined]) {
        const gone = await create({ stream_id, previous_response_id: root, input: 'y' });
        expect(gone).toMatchObject([{ status: 400, error: { code: 'previous_response_not_found' } }]);
      }
    },
  );

  it('76. the default lane is a lane as well', async () => {
    const root = idOf(await create({ input: 'root' }));
    await create({ stream_id: 'critic', previous_response_id: root, input: ORPHAN });
    expect((await create({ previous_response_id: root, input: 'y' })).at(-1)?.type).toBe(
      'response.completed',
    );
    await create({ previous_response_id: root, input: ORPHAN });
    expect(await create({ previous_response_id: root, input: 'y' })).toMatchObject([{ type: 'error' }]);
  });

  it('76. an error of one lane reaches no other', async () => {
    send({ stream_id: 'a', input: 'x [sim stall=150 tokens=30]' });
    await client.until(() => client.events.some(({ type }) => type === 'response.in_progress'));
    for (const input of [5, ORPHAN, 'x [sim die=2]']) await create({ stream_id: 'b', input });
    await client.until(() => ofLane(client.events, 'a').some(isEnd));
    checkStream(ofLane(client.events, 'a'));
    expect(ofLane(client.events, 'a').at(-1)?.type).toBe('response.completed');
  });

  it('77. the same stream_id without previous_response_id is a fresh start', async () => {
    for (const stream_id of ['a', undefined]) {
      await create({ stream_id, input: 'secret marmalade' });
      stand.takePrompts();
      for (const previous_response_id of [undefined, null]) {
        const events = await create({ stream_id, previous_response_id, input: 'who am I?' });
        expect(textOf(events)).toContain('message 1');
        expect(terminal(events).response).toMatchObject({ previous_response_id: null });
      }
      for (const prompt of stand.takePrompts()) expect(prompt).not.toContain('marmalade');
    }
  });
});

describe('any order of turns', () => {
  /** What is known of a response: what it can be continued by, and what a continuation then sees. */
  interface Known {
    readonly id: string;
    readonly messages: number;
    readonly store: boolean;
    /** The lane whose failures evict it; undefined once nothing can any more. */
    lane: string | undefined;
    gone: boolean;
  }
  const KINDS: Readonly<Record<string, Body>> = {
    turn: { input: 'x' },
    'warm-up': { input: 'x', generate: false },
    cut: { input: 'x', max_output_tokens: 3 },
    orphan: { input: ORPHAN },
    dies: { input: 'x [sim die=3]' },
    'no model': { input: 'x', model: 'nope' },
    unreadable: { input: 5 },
  };
  const step = fc.record({
    lane: fc.constantFrom('a', 'b', 'c'),
    parent: fc.nat(20),
    kind: fc.constantFrom('turn', 'turn', ...Object.keys(KINDS)),
    store: fc.boolean(),
  });

  it('76. keeps every chain whole, and evicts what failed in its own lane', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
        client.close();
        client = await SocketClient.connect(stand.url);
        const known: Known[] = [];
        for (const { lane, parent: at, kind, store } of steps) {
          const parent = at === 0 ? undefined : known[at % Math.max(known.length, 1)];
          const previous_response_id = parent?.id;
          const events = await create({ stream_id: lane, previous_response_id, store, ...KINDS[kind] });
          const end = events.at(-1);
          if (kind === 'unreadable') {
            // It never became a turn, and evicts nothing.
            expect(end).toMatchObject({ type: 'error', error: { param: 'input' } });
          } else if (parent?.gone === true) {
            expect(end?.error?.code).toBe('previous_response_not_found');
          } else if (['orphan', 'dies', 'no model'].includes(kind)) {
            expect(end?.type).toMatch(/^(error|response\.failed)$/);
            if (parent === undefined || parent.lane !== lane) continue;
            parent.gone = !parent.store;
            parent.lane = undefined;
          } else {
            const messages = (parent?.messages ?? 0) + 1;
            known.push({ id: idOf(events), messages, store, lane, gone: false });
            if (kind === 'turn') expect(textOf(events)).toContain(`(message ${messages},`);
          }
        }
      }),
      { numRuns: 30 },
    );
  });
});
