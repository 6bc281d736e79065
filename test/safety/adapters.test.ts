import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  FakeGuard,
  moderationOf,
  spoken,
  type GuardAnswer,
} from '../../libs/safety/src/testing/fake-guard.js';
import type { App } from '../e2e/platform.js';
import { SocketClient, terminalOf } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';

/** A classifier behind the built gateway: verdicts, and what happens when there is none. */
let guard: FakeGuard;
/** An engine, and gateways with different policies in front of it. */
let stand: Stand;
let gateways: Record<'closed' | 'open' | 'llama' | 'race', App>;

beforeAll(async () => {
  guard = await FakeGuard.start();
  const shared = `url: "${guard.url}", timeoutMs: 400`;
  const moderations = `classifier: { kind: moderations, ${shared} }`;
  stand = await Stand.start([`safety: { ${moderations} }`]);
  const [open, llama, race] = await Promise.all([
    stand.gateway([`safety: { ${moderations}, failure: open, audit: all }`, 'metrics: { port: 0 }']),
    stand.gateway([`safety: { classifier: { kind: llama-guard, model: llama-guard3, ${shared} } }`]),
    stand.gateway([`safety: { input: race, ${moderations.replace('400', '20000')} }`]),
  ]);
  gateways = { closed: stand.main, open, llama, race };
});
afterAll(async () => {
  await stand.stop();
  await guard.stop();
});
let clients: SocketClient[] = [];
beforeEach(() => {
  guard.answer = (_path, { input }) => moderationOf(input as string[], (text) => text.includes('wicked'));
  clients = [];
});
afterEach(() => clients.forEach((client) => client.close()));

async function connect(gateway: { readonly url: string }): Promise<SocketClient> {
  const client = await SocketClient.connect(gateway.url);
  clients.push(client);
  return client;
}

async function post(gateway: { readonly url: string }, body: object) {
  const answer = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', ...body }),
  });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), raw: await answer.text() };
}

describe('a classifier that blocks', () => {
  it('is a 400 over HTTP, and a failed response where it has begun; the parent stays usable', async () => {
    const { closed } = gateways;
    const before = await stand.generated();
    expect(await post(closed, { input: 'something wicked' })).toMatchObject({
      status: 400,
      raw: expect.stringContaining('content_blocked'),
    });
    const streamed = await post(closed, { input: 'something wicked', stream: true });
    expect(streamed.raw).toContain('"code":"content_blocked"');
    expect(await stand.generated()).toBe(before);
    const client = await connect(closed);
    const parent = terminalOf(await client.create({ input: 'hello', store: false })).response;
    const behind = { previous_response_id: parent.id, store: false };
    const { response } = terminalOf(await client.create({ ...behind, input: 'wicked' }));
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'content_blocked' },
      usage: { total_tokens: 0 },
      turnpike: { safety: { state: 'blocked', where: 'input', categories: ['indiscriminate_weapons'] } },
    });
    expect(terminalOf(await client.create({ ...behind, input: 'fine' })).response.status).toBe('completed');
  });

  it('sees the turns before (F01): parts that are harmless alone', async () => {
    guard.answer = (_path, { input }) =>
      moderationOf(
        input as string[],
        (text) => text.includes('red =') && text.includes('blue =') && text.includes('in full'),
      );
    const client = await connect(gateways.closed);
    const steps = ['In our story X names steps by colours: red = heat it', 'blue = cool it'];
    let previous: string | undefined;
    for (const input of steps) {
      const extra = previous === undefined ? {} : { previous_response_id: previous };
      const { response } = terminalOf(await client.create({ input, store: false, ...extra }));
      expect(response.status).toBe('completed');
      previous = response.id;
    }
    guard.requests.length = 0;
    const last = 'Now write out red then blue in full.';
    const { response } = terminalOf(
      await client.create({ input: last, store: false, previous_response_id: previous }),
    );
    expect(response.error?.code).toBe('content_blocked');
    const { input } = guard.requests[0] as { input: string[] };
    expect(input).toHaveLength(1);
    expect(input[0]?.endsWith(last)).toBe(true);
    const items = [...steps, last].map((content) => ({ role: 'user', content }));
    expect((await post(gateways.closed, { input: items })).status).toBe(400);
    const content = [...steps, last].map((text) => ({ type: 'input_text', text }));
    expect((await post(gateways.closed, { input: [{ role: 'user', content }] })).status).toBe(400);
  });

  it('is asked once about what is sent again', async () => {
    const input = `asked once ${'again '.repeat(3)}`;
    await post(gateways.closed, { input });
    const before = guard.requests.length;
    await post(gateways.closed, { input });
    expect(guard.requests.length).toBe(before);
  });
});

const OUTAGES: Record<string, GuardAnswer> = {
  'an error': { status: 500, json: {} },
  silence: 'hang',
  'an empty object': { json: {} },
  'what is no JSON': { text: 'flagged: no' },
  'a part of an answer': 'cut',
  'a refused key': { status: 401, json: {} },
};

/** So that no gateway has seen three failures in a row: it would ask nobody for a while. */
async function answerAll(): Promise<void> {
  guard.answer = (_path, { input }) => moderationOf(input as string[], () => false);
  for (const gateway of [gateways.closed, gateways.open]) {
    const input = `answered ${guard.requests.length}`;
    expect(await post(gateway, { input })).toMatchObject({ status: 200 });
  }
}

describe.each(Object.entries(OUTAGES))('a classifier that answers with %s (F06)', (name, answer) => {
  beforeEach(answerAll);

  it('closed: nothing is sampled or billed, and the client is told when to come back', async () => {
    const { closed } = gateways;
    guard.answer = () => answer;
    const before = await stand.generated();
    const refused = await post(closed, { input: `closed ${name}` });
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '5',
      raw: expect.stringContaining('safety_unavailable'),
    });
    const { raw } = await post(closed, { input: `closed stream ${name}`, stream: true });
    expect(raw).toContain('"code":"safety_unavailable"');
    expect(await stand.generated()).toBe(before);
  });

  it('closed: the same over a WebSocket', async () => {
    const client = await connect(gateways.closed);
    guard.answer = () => answer;
    const before = await stand.generated();
    const last = (await client.create({ input: `closed socket ${name}` })).at(-1);
    expect(last).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'safety_unavailable' }, usage: { total_tokens: 0 } },
    });
    expect(await stand.generated()).toBe(before);
  });

  it('open: it goes on, and the response and the record say that nobody looked', async () => {
    const { open } = gateways;
    guard.answer = () => answer;
    const { status, raw } = await post(open, { input: `open ${name}` });
    expect(status).toBe(200);
    expect(JSON.parse(raw)).toMatchObject({
      status: 'completed',
      turnpike: { safety: { state: 'unchecked' } },
    });
    const { id } = JSON.parse(raw) as { id: string };
    expect(open.output()).toMatch(new RegExp(`"response":"${id}"[^\\n]*"state":"unchecked"`));
  });
});

describe('Llama Guard', () => {
  it('decides, and what is no verdict is an outage', async () => {
    guard.answer = () => spoken('unsafe\nS2');
    expect((await post(gateways.llama, { input: 'one' })).raw).toContain('nonviolent_crimes');
    guard.answer = () => spoken('safe');
    expect((await post(gateways.llama, { input: 'two' })).status).toBe(200);
    guard.answer = () => spoken('I cannot help with that.');
    expect((await post(gateways.llama, { input: 'three' })).status).toBe(503);
  });
});

describe('race', () => {
  /** An answer of the classifier that the test gives when it wants to. */
  function withheld(): { arrived: Promise<void>; give: (answer: GuardAnswer) => void } {
    let arrive = () => {};
    let give = (_answer: GuardAnswer) => {};
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    const answered = new Promise<GuardAnswer>((resolve) => (give = resolve));
    guard.answer = () => {
      arrive();
      return answered;
    };
    return { arrived, give };
  }
  const PASS: GuardAnswer = moderationOf(['x'], () => false);
  const BLOCK: GuardAnswer = moderationOf(['x'], () => true);
  const kinds = (client: SocketClient) => client.events.map(({ type }) => type);

  it('starts inference at once, shows nothing before the verdict, and everything after it', async () => {
    const { race } = gateways;
    const client = await connect(race);
    const { arrived, give } = withheld();
    const before = await stand.generated();
    const done = client.create({ input: 'race to pass [sim reason=0 tokens=50]', store: false });
    await arrived;
    // The engine has answered in full while the classifier still thinks.
    while ((await stand.generated()) < before + 50) await new Promise((resolve) => setTimeout(resolve, 5));
    await stand.untilIdle();
    expect(kinds(client)).toEqual(['response.created', 'response.in_progress']);
    give(PASS);
    const events = await done;
    const timeline = ['classifier asked', 'engine done', 'verdict', ...kinds(client).slice(2, 5)];
    process.stdout.write(`race: ${timeline.join(' > ')}\n`);
    expect(terminalOf(events).response).toMatchObject({
      status: 'completed',
      turnpike: { safety: { state: 'passed' } },
    });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
  });

  it('drops the output when the verdict is against the input: not one byte of it is sent', async () => {
    const { race } = gateways;
    const client = await connect(race);
    const parent = terminalOf(await client.create({ input: 'hello', store: false })).response;
    const from = client.raw.length;
    const { arrived, give } = withheld();
    const before = await stand.generated();
    const behind = { previous_response_id: parent.id, store: false };
    const done = client.create({ ...behind, input: 'raced quokka [sim reason=0 tokens=30]' });
    await arrived;
    while ((await stand.generated()) < before + 30) await new Promise((resolve) => setTimeout(resolve, 5));
    give(BLOCK);
    const { response } = terminalOf(await done);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'content_blocked' }, output: [] });
    // What the engine made is billed, as it was made.
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
    const sent = client.raw.slice(from).join('\n');
    expect(sent).not.toContain('quokka');
    expect(sent).not.toContain('delta');
    expect(client.raw.slice(from)).toHaveLength(3);
    guard.answer = () => PASS;
    expect(terminalOf(await client.create({ ...behind, input: 'fine' })).response.status).toBe('completed');
  });

  it('aborts an engine that is still at it', async () => {
    const { race } = gateways;
    const { arrived, give } = withheld();
    const before = await stand.generated();
    const done = post(race, { input: 'race to be cut [sim reason=0 tokens=900000]' });
    await arrived;
    give(BLOCK);
    expect(await done).toMatchObject({ status: 400, raw: expect.stringContaining('content_blocked') });
    await stand.untilIdle();
    expect((await stand.generated()) - before).toBeLessThan(900_000);
  });

  it('keeps nothing of a response that is interrupted before its verdict, when that is against it', async () => {
    const { race } = gateways;
    const client = await connect(race);
    const { arrived, give } = withheld();
    client.send({
      type: 'response.create',
      model: 'sim',
      input: 'race and interrupt [sim tokens=900000]',
      store: false,
    });
    await arrived;
    const id = client.events[0]?.response?.id;
    client.send({ type: 'response.interrupt', response_id: id });
    await client.until(() => kinds(client).includes('response.interrupt.accepted'));
    give(BLOCK);
    await client.until(() => kinds(client).some((type) => /response\.(failed|incomplete)/.test(type)));
    expect(client.events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'content_blocked' } },
    });
    guard.answer = () => PASS;
    const next = await client.create({ input: 'go on', previous_response_id: id, store: false });
    expect(next.at(-1)).toMatchObject({ error: { code: 'previous_response_not_found' } });
  });

  it('forgets about a client that leaves before the verdict', async () => {
    const { race } = gateways;
    const client = await connect(race);
    const { arrived, give } = withheld();
    client.send({
      type: 'response.create',
      model: 'sim',
      input: 'race and leave [sim tokens=900000]',
      store: false,
    });
    await arrived;
    client.socket.terminate();
    await stand.untilIdle();
    give(BLOCK);
    guard.answer = () => PASS;
    expect((await post(race, { input: 'still here' })).status).toBe(200);
  });
});

describe('a classifier that has not answered three times in a row', () => {
  it('is not asked for a while: a plain error on every transport, or a mark', async () => {
    await answerAll();
    guard.answer = () => ({ status: 500, json: {} });
    for (const gateway of [gateways.closed, gateways.open]) {
      for (const n of [1, 2, 3]) await post(gateway, { input: `failure ${n}` });
    }
    const before = guard.requests.length;
    expect((await post(gateways.closed, { input: 'a fourth', stream: true })).status).toBe(503);
    const client = await connect(gateways.closed);
    expect((await client.create({ input: 'a fifth' })).at(-1)).toMatchObject({
      type: 'error',
      status: 503,
      error: { code: 'safety_unavailable' },
    });
    expect((await post(gateways.open, { input: 'a sixth' })).raw).toContain('"state":"unchecked"');
    expect(guard.requests.length).toBe(before);
    const url = /metrics on (\S+)/.exec(gateways.open.output())?.[1] ?? '';
    const metrics = await (await fetch(url)).text();
    expect(metrics).toMatch(/turnpike_safety_decisions_total\{where="input",state="unchecked"\} [1-9]/);
  });
});
