import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startPlatform, type App } from './platform.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

let app: App;
let client: SocketClient;

beforeAll(async () => {
  app = await startPlatform();
});
afterAll(() => app.stop());
beforeEach(async () => {
  client = await SocketClient.connect(app.url);
});
afterEach(() => client.close());

const seen = (type: string) => client.events.find((event) => event.type === type);

describe('response.interrupt', () => {
  it('ends a response with what is finished, and the conversation goes on from there', async () => {
    client.send({
      type: 'response.create',
      model: 'sim',
      store: false,
      stream_id: 'main',
      reasoning: { effort: 'medium' },
      input: 'x [sim reason=2 tokens=300000]',
    });
    await client.until(() => seen('response.output_text.delta') !== undefined);
    const id = seen('response.created')?.response?.id;
    client.send({
      type: 'response.interrupt',
      response_id: id,
      mode: 'discard_partial_items',
      stream_id: 'main',
    });
    await client.until(() => seen('response.incomplete') !== undefined);
    const events = [...client.events];
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(events.every(({ stream_id }) => stream_id === 'main')).toBe(true);
    expect(events.slice(-3).map(({ type }) => type)).toEqual([
      'response.interrupt.accepted',
      'response.output_item.interrupted',
      'response.incomplete',
    ]);
    const { response } = terminalOf(events);
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'interrupted' } });
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning']);
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
    const next = await client.create({ previous_response_id: id, input: 'instead', store: false });
    expect(textOf(next)).toContain('You said: "instead". (message 2');
  });

  it('goes past the queue of its lane, which then runs', async () => {
    client.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=60000 tokens=400]' });
    client.send({ type: 'response.create', model: 'sim', input: 'waiting' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    client.send({ type: 'response.interrupt', response_id: seen('response.created')?.response?.id });
    await client.until(() => seen('response.completed') !== undefined);
    expect(textOf(client.events)).toContain('waiting');
  });

  it('ends a warm-up, and a response that is still being prepared, and is never lost', async () => {
    for (const body of [{ generate: false }, {}]) {
      client.events.length = 0;
      client.send({
        type: 'response.create',
        model: 'sim',
        store: false,
        ...body,
        input: 'lorem ipsum '.repeat(100_000),
      });
      await client.until(() => seen('response.created') !== undefined);
      client.send({ type: 'response.interrupt', response_id: seen('response.created')?.response?.id });
      const ended = () => client.events.find(({ type }) => /incomplete|completed|failed$|error/.test(type));
      await client.until(() => seen('response.interrupt.accepted') !== undefined && ended() !== undefined);
      expect(ended()?.type).toBe('response.incomplete');
    }
  });

  it('of a response that has ended, or of another connection, fails and changes nothing', async () => {
    const ended = terminalOf(await client.create({ input: 'x' })).response.id;
    const other = await SocketClient.connect(app.url);
    other.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=300 tokens=20]' });
    await other.until(() => other.events.length > 0);
    const running = other.events[0]?.response?.id;
    for (const response_id of [ended, running, 'resp_unknown', 7, undefined]) {
      const code = response_id === ended ? 'response_already_completed' : 'response_not_found';
      client.events.length = 0;
      client.send({ type: 'response.interrupt', response_id });
      await client.until(() => client.events.length > 0);
      expect(client.events[0]).toMatchObject({
        type: 'response.interrupt.failed',
        error: { type: 'invalid_request_error', code },
      });
    }
    await other.until(() => other.events.some(({ type }) => type === 'response.completed'));
    other.close();
  });
});
