import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  FakeGuard,
  moderationOf,
  spoken,
  type GuardAnswer,
} from '../../libs/safety/src/testing/fake-guard.js';
import { SocketClient, terminalOf } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';

/** A classifier behind the built gateway: verdicts, and what happens when there is none. */
let guard: FakeGuard;
let stands: Record<'closed' | 'open' | 'llama' | 'race', Stand>;

beforeAll(async () => {
  guard = await FakeGuard.start();
  const shared = `url: "${guard.url}", timeoutMs: 300`;
  const moderations = `classifier: { kind: moderations, ${shared} }`;
  const [closed, open, llama, race] = await Promise.all([
    Stand.start([`safety: { ${moderations} }`]),
    Stand.start([`safety: { ${moderations}, failure: open, audit: all }`]),
    Stand.start([`safety: { classifier: { kind: llama-guard, model: llama-guard3, ${shared} } }`]),
    Stand.start([`safety: { input: race, ${moderations.replace('300', '20000')} }`]),
  ]);
  stands = { closed, open, llama, race };
});
afterAll(async () => {
  await Promise.all(Object.values(stands).map((stand) => stand.stop()));
  await guard.stop();
});
let clients: SocketClient[] = [];
beforeEach(() => {
  guard.answer = (_path, { input }) => moderationOf(input as string[], (text) => text.includes('wicked'));
  clients = [];
});
afterEach(() => clients.forEach((client) => client.close()));

async function connect(stand: { readonly url: string }): Promise<SocketClient> {
  const client = await SocketClient.connect(stand.url);
  clients.push(client);
  return client;
}

async function post(stand: { readonly url: string }, body: object) {
  const answer = await fetch(`${stand.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', ...body }),
  });
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), raw: await answer.text() };
}

describe('a classifier that blocks', () => {
  it('is a 400 over HTTP, and a failed response where it has begun; the parent stays usable', async () => {
    const stand = stands.closed;
    const before = await stand.generated();
    expect(await post(stand, { input: 'something wicked' })).toMatchObject({
      status: 400,
      raw: expect.stringContaining('content_blocked'),
    });
    const streamed = await post(stand, { input: 'something wicked', stream: true });
    expect(streamed.raw).toContain('"code":"content_blocked"');
    expect(await stand.generated()).toBe(before);
    const client = await connect(stand);
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
    const client = await connect(stands.closed);
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
    expect((await post(stands.closed, { input: items })).status).toBe(400);
    const content = [...steps, last].map((text) => ({ type: 'input_text', text }));
    expect((await post(stands.closed, { input: [{ role: 'user', content }] })).status).toBe(400);
  });

  it('is asked once about what is sent again', async () => {
    const input = `asked once ${'again '.repeat(3)}`;
    await post(stands.closed, { input });
    const before = guard.requests.length;
    await post(stands.closed, { input });
    expect(guard.requests.length).toBe(before);
  });
});

const OUTAGES: Record<string, GuardAnswer> = {
  'an error': { status: 500, json: {} },
  silence: 'hang',
  'an empty object': { json: {} },
  'a refused key': { status: 401, json: {} },
};

describe.each(Object.entries(OUTAGES))('a classifier that answers with %s (F06)', (name, answer) => {
  it('closed: nothing is sampled or billed, and the client is told when to come back', async () => {
    // Of its own: after three failures in a row a gateway asks nobody for a while.
    const gateway = await stands.closed.gateway([
      `safety: { classifier: { kind: moderations, url: "${guard.url}", timeoutMs: 300 } }`,
    ]);
    guard.answer = () => answer;
    const before = await stands.closed.generated();
    const refused = await post(gateway, { input: `closed ${name}` });
    expect(refused).toMatchObject({
      status: 503,
      retryAfter: '5',
      raw: expect.stringContaining('safety_unavailable'),
    });
    const { raw } = await post(gateway, { input: `closed stream ${name}`, stream: true });
    expect(raw).toContain('"code":"safety_unavailable"');
    const client = await connect(gateway);
    const last = (await client.create({ input: `closed socket ${name}` })).at(-1);
    const error = last?.error ?? last?.response?.error;
    expect(error?.code).toBe('safety_unavailable');
    if (last?.response !== undefined) expect(last.response.usage?.total_tokens).toBe(0);
    expect(await stands.closed.generated()).toBe(before);
  });

  it('open: it goes on, and the response and the record say that nobody looked', async () => {
    const stand = stands.open;
    guard.answer = () => answer;
    const { status, raw } = await post(stand, { input: `open ${name}` });
    expect(status).toBe(200);
    expect(JSON.parse(raw)).toMatchObject({
      status: 'completed',
      turnpike: { safety: { state: 'unchecked' } },
    });
    const { id } = JSON.parse(raw) as { id: string };
    expect(stand.output).toMatch(new RegExp(`"response":"${id}"[^\\n]*"state":"unchecked"`));
  });
});

describe('Llama Guard', () => {
  it('decides, and what is no verdict is an outage', async () => {
    guard.answer = () => spoken('unsafe\nS2');
    expect((await post(stands.llama, { input: 'one' })).raw).toContain('nonviolent_crimes');
    guard.answer = () => spoken('safe');
    expect((await post(stands.llama, { input: 'two' })).status).toBe(200);
    guard.answer = () => spoken('I cannot help with that.');
    expect((await post(stands.llama, { input: 'three' })).status).toBe(503);
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
    const { race } = stands;
    const client = await connect(race);
    const { arrived, give } = withheld();
    const before = await race.generated();
    const done = client.create({ input: 'race to pass [sim reason=0 tokens=50]', store: false });
    await arrived;
    // The engine has answered in full while the classifier still thinks.
    while ((await race.generated()) < before + 50) await new Promise((resolve) => setTimeout(resolve, 5));
    await race.untilIdle();
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
    const { race } = stands;
    const client = await connect(race);
    const parent = terminalOf(await client.create({ input: 'hello', store: false })).response;
    const from = client.raw.length;
    const { arrived, give } = withheld();
    const before = await race.generated();
    const behind = { previous_response_id: parent.id, store: false };
    const done = client.create({ ...behind, input: 'raced quokka [sim reason=0 tokens=30]' });
    await arrived;
    while ((await race.generated()) < before + 30) await new Promise((resolve) => setTimeout(resolve, 5));
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
    const { race } = stands;
    const { arrived, give } = withheld();
    const before = await race.generated();
    const done = post(race, { input: 'race to be cut [sim reason=0 tokens=900000]' });
    await arrived;
    give(BLOCK);
    expect(await done).toMatchObject({ status: 400, raw: expect.stringContaining('content_blocked') });
    await race.untilIdle();
    expect((await race.generated()) - before).toBeLessThan(900_000);
  });

  it('keeps nothing of a response that is interrupted before its verdict, when that is against it', async () => {
    const { race } = stands;
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
    const { race } = stands;
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
    await race.untilIdle();
    give(BLOCK);
    guard.answer = () => PASS;
    expect((await post(race, { input: 'still here' })).status).toBe(200);
  });
});
