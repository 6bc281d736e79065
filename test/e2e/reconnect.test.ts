import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import { App, FAST, startGateway } from './platform.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

type Gateway = Awaited<ReturnType<typeof startGateway>>;

let engine: App;
const started: Gateway[] = [];

beforeAll(async () => {
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
});
afterAll(() => engine.stop());
afterEach(async () => {
  for (const gateway of started.splice(0)) {
    await gateway.stop();
    gateway.cleanUp();
  }
});

async function gateway(limits: string): Promise<Gateway> {
  const app = await startGateway(engine.url, [`limits: ${limits}`]);
  started.push(app);
  return app;
}

/** A `store: false` response on a connection that then ends. */
async function lostResponse(url: string, end: 'cut' | 'close'): Promise<string> {
  const client = await SocketClient.connect(url);
  const events = await client.create({ input: 'remember marmalade', store: false });
  if (end === 'cut') client.socket.terminate();
  else client.close();
  await client.untilClosed();
  return terminalOf(events).response.id;
}

describe('a connection that was lost', () => {
  it('can be continued on a new one within the resume window, without sending anything again', async () => {
    const { url } = await gateway('{}');
    const id = await lostResponse(url, 'cut');
    const client = await SocketClient.connect(url);
    const next = await client.create({ previous_response_id: id, input: 'go on', store: false });
    expect(textOf(next)).toContain('message 2');
    const after = await client.create({
      previous_response_id: terminalOf(next).response.id,
      input: 'and on',
      store: false,
    });
    expect(textOf(after)).toContain('message 3');
    client.close();
  });

  it('is gone when it was closed properly, over HTTP, and when the window is switched off', async () => {
    const open = await gateway('{}');
    const strict = await gateway('{ resumeMs: 0 }');
    const closed = await lostResponse(open.url, 'close');
    const cut = await lostResponse(open.url, 'cut');
    const off = await lostResponse(strict.url, 'cut');
    for (const [url, id] of [
      [open.url, closed],
      [strict.url, off],
    ] as const) {
      const client = await SocketClient.connect(url);
      const events = await client.create({ previous_response_id: id, input: 'go on' });
      expect(events[0]?.error?.code).toBe('previous_response_not_found');
      client.close();
    }
    const answer = await fetch(`${open.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'sim', previous_response_id: cut, input: 'go on' }),
    });
    expect(answer.status).toBe(400);
  });
});

describe('a connection that has reached its age', () => {
  const EXPIRED = { type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } };

  it('says so while it is idle, and closes in a way that clients reconnect after', async () => {
    const { url } = await gateway('{ connectionMs: 1000 }');
    const client = await SocketClient.connect(url);
    expect((await client.untilClosed()).code).toBe(1001);
    expect(client.events).toHaveLength(1);
    expect(client.events[0]).toMatchObject(EXPIRED);
  });

  it('lets a running turn finish first, and takes no other', async () => {
    const { url } = await gateway('{ connectionMs: 1000 }');
    const client = await SocketClient.connect(url);
    client.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=1500 tokens=40]' });
    await client.until(() => client.events.some(({ type }) => type === 'error'));
    client.send({ type: 'response.create', model: 'sim', input: 'y', stream_id: 'other' });
    expect((await client.untilClosed()).code).toBe(1001);
    const errors = client.events.filter(({ type }) => type === 'error');
    expect(errors).toHaveLength(2);
    for (const error of errors) expect(error).toMatchObject(EXPIRED);
    expect(client.events.at(-1)?.type).toBe('response.completed');
  });
});

describe('a gateway that is told to stop', () => {
  it('finishes what runs, closes with 1012 and ends with exit code 0', async () => {
    const app = await gateway('{}');
    const client = await SocketClient.connect(app.url);
    client.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=500 tokens=40]' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    app.signal('SIGTERM');
    expect((await client.untilClosed()).code).toBe(1012);
    expect(client.events.at(-1)?.type).toBe('response.completed');
    expect(await app.ended()).toBe(0);
  });

  it('finishes a stream over HTTP as well', async () => {
    const app = await gateway('{}');
    const answer = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'sim', stream: true, input: 'x [sim stall=500 tokens=40]' }),
    });
    app.signal('SIGTERM');
    expect(await answer.text()).toContain('event: response.completed');
    expect(await app.ended()).toBe(0);
  });
});
