import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Replicas } from './replicas.js';
import { SocketClient, terminalOf, textOf, type WireEvent } from './socket-client.js';

let platform: Replicas;
let client: SocketClient;

beforeAll(async () => {
  platform = await Replicas.start();
  client = await SocketClient.connect(platform.gateway.url);
});
afterAll(async () => {
  client.close();
  await platform.stop();
});

const SHORT = '[sim reason=0]';
const LONG = '[sim reason=0 tokens=5000]';

/** Events of a turn over HTTP, as they came. */
async function stream(body: Record<string, unknown>, onDelta: () => void): Promise<WireEvent[]> {
  const answer = await fetch(`${platform.gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', stream: true, ...body }),
  });
  const events: WireEvent[] = [];
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data === undefined || data === '[DONE]') continue;
      const event = JSON.parse(data) as WireEvent;
      events.push(event);
      if (event.type === 'response.output_text.delta') onDelta();
    }
  }
  return events;
}

/** One turn that is still answering when `onDelta` is called for the first time. */
async function socketTurn(body: Record<string, unknown>, onDelta: () => void): Promise<WireEvent[]> {
  const from = client.events.length;
  const turn = client.create(body);
  await client.until(() =>
    client.events.slice(from).some(({ type }) => type === 'response.output_text.delta'),
  );
  onDelta();
  return turn;
}

it.each([
  ['WebSocket', socketTurn],
  ['HTTP', stream],
])(
  'an engine killed mid-stream: one failed response, and the chain goes on elsewhere (%s)',
  async (way, run) => {
    const root = terminalOf(await run({ input: `first question over ${way} ${SHORT}` }, () => undefined));
    const id = root.response.id;
    let killed: Promise<'a' | 'b'> | undefined;
    const kill = async () => {
      const home = await platform.running();
      await platform.kill(home);
      return home;
    };
    const events = await run(
      { previous_response_id: id, input: `second ${LONG}` },
      () => void (killed ??= kill()),
    );
    const home = (await killed) ?? 'a';
    const other = home === 'a' ? 'b' : 'a';

    const terminals = events.filter(({ type }) =>
      /^(response\.(completed|failed|incomplete)|error)$/.test(type),
    );
    expect(terminals.map(({ type }) => type)).toEqual(['response.failed']);
    const { response } = terminalOf(events);
    expect(response.error).toMatchObject({ code: 'server_error' });
    const deltas = events.flatMap(({ type, delta }) =>
      type === 'response.output_text.delta' ? [delta] : [],
    );
    expect(textOf(events)).toBe(deltas.join(''));
    expect(deltas.length).toBeGreaterThan(0);
    // What the engine produced is counted, to the token where its last words arrived.
    expect(response.usage?.output_tokens).toBeGreaterThan(deltas.length - 1);
    expect(response.usage?.input_tokens).toBeGreaterThan(root.response.usage?.total_tokens ?? Infinity);
    expect(JSON.stringify(events)).not.toContain(new URL(platform.engines[home].url).port);

    // The parent was stored: it can still be continued, and its conversation is all there.
    const next = await run({ previous_response_id: id, input: `third ${SHORT}` }, () => undefined);
    expect(terminalOf(next).response).toMatchObject({ status: 'completed' });
    expect(textOf(next)).toContain('You said: "third". (message 2,');
    expect((await platform.state(other)).requests).toBeGreaterThan(0);
    expect((await platform.standings())[home]).toBe('down');

    // From there on it stays, and the engine has the conversation in its cache.
    const last = await run(
      { previous_response_id: terminalOf(next).response.id, input: `fourth ${SHORT}` },
      () => undefined,
    );
    const cached = terminalOf(last).response.usage?.input_tokens_details.cached_tokens ?? 0;
    expect(cached).toBeGreaterThan(terminalOf(next).response.usage?.input_tokens ?? Infinity);
    await platform.revive(home);
  },
);

it('a failed continuation takes a parent that is not stored with it', async () => {
  const root = terminalOf(await client.create({ store: false, input: `hello ${SHORT}` }));
  let killed: Promise<void> | undefined;
  let home: 'a' | 'b' = 'a';
  const kill = async () => {
    home = await platform.running();
    await platform.kill(home);
  };
  const body = { store: false, previous_response_id: root.response.id };
  const events = await socketTurn({ ...body, input: `again ${LONG}` }, () => void (killed ??= kill()));
  await killed;
  expect(terminalOf(events).response.status).toBe('failed');
  const [error] = await client.create({ ...body, input: 'more' });
  expect(error).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } });
  await platform.revive(home);
});

it('an engine that is gone when a turn begins is replaced within the turn, which is counted once', async () => {
  const input = `what is counted? ${SHORT}`;
  let root: WireEvent[] = [];
  const [home] = await platform.answering(async () => (root = await client.create({ input })));
  if (home === undefined) throw new Error('nobody answered');
  const other = home === 'a' ? 'b' : 'a';
  const { id, usage } = terminalOf(root).response;
  const again = await client.create({ previous_response_id: id, input: `next ${SHORT}` });
  const expected = terminalOf(again).response.usage;

  platform.engines[home].signal('SIGKILL');
  await platform.engines[home].ended();
  const before = (await platform.state(other)).requests;
  const moved = await client.create({ previous_response_id: id, input: `next ${SHORT}` });
  expect(moved.filter(({ type }) => type === 'response.created')).toHaveLength(1);
  expect(terminalOf(moved).response).toMatchObject({
    status: 'completed',
    usage: { input_tokens: expected?.input_tokens, output_tokens: expected?.output_tokens },
  });
  expect((await platform.state(other)).requests).toBe(before + 1);
  expect(usage?.input_tokens).toBeGreaterThan(0);
  const metrics = await platform.metrics();
  expect(metrics).toMatch(/turnpike_engine_requests_total\{engine="[ab]",outcome="answered"\} \d/);
  expect(metrics).toContain(`turnpike_engine_standing{engine="${home}",standing="down"} 1`);
  expect(metrics).toContain(`turnpike_engine_running{engine="${other}"} 0`);
  await platform.revive(home);
});

it('chains of one beginning share a replica, and a chain stays with it', async () => {
  const conversation = async () => {
    const first = await client.create({ input: `the same words ${SHORT}` });
    const second = await client.create({
      previous_response_id: terminalOf(first).response.id,
      input: `more ${SHORT}`,
    });
    return second;
  };
  const engines = await platform.answering(async () => {
    await conversation();
    const second = await conversation();
    expect(terminalOf(second).response.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
  });
  expect(engines).toHaveLength(4);
  expect(new Set(engines).size).toBe(1);
  const lines = platform.gateway.output().split('\n');
  const resolved = lines.filter((line) => line.includes('"routes_resolved"')).length;
  const turns = lines.filter((line) => line.includes('"turn ended"')).length;
  expect(resolved).toBeLessThan(turns);
});
