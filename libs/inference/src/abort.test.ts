import { afterEach, describe, expect, it } from '@jest/globals';
import { begin, FakeEngine, sse, tokens } from '../testing/fake-engine.js';
import { cleanUp, clientFor, onCleanUp, REQUEST } from '../testing/harness.js';
import { delta } from '../testing/message-server.js';
import { ChatReader } from './chat/chat-reader.js';
import type { EngineClient } from './engine-client.js';
import type { MessageRequest } from './messages.js';

afterEach(cleanUp);

/** Each kind of engine: its events, and how it is asked. */
const KINDS = {
  token: {
    kind: 'vllm' as const,
    events: (count: number) => [
      ...Array.from({ length: count }, () => tokens([7])),
      tokens([200002], 'stop'),
      '[DONE]',
    ],
    ask: (client: EngineClient, signal: AbortSignal): AsyncIterable<unknown> =>
      client.generate(REQUEST, signal),
  },
  message: {
    kind: 'chat' as const,
    events: (count: number) => [
      ...Array.from({ length: count }, () => delta({ content: 'a' })),
      delta({ content: 'b' }, 'stop'),
      '[DONE]',
    ],
    ask: (client: EngineClient, signal: AbortSignal): AsyncIterable<unknown> => {
      const request: MessageRequest = {
        api: 'chat',
        settings: { model: 'm', stream: true },
        lists: { tools: [], messages: [Buffer.from('{"role":"user","content":"x"}')] },
        reader: new ChatReader({ targets: new Map(), estimate: (text) => text.length }),
      };
      if (client.converse === undefined) throw new Error('it takes messages');
      return client.converse(request, signal);
    },
  },
};

/** How the answer is on its way when the client leaves. */
const ANSWERS: Record<string, (engine: Begun) => void> = {
  'has come whole in one piece': ({ response, events }) => response.end(sse(...events)),
  'comes piece by piece': ({ response, events }) => {
    const queue = [...events];
    const next = () => {
      const event = queue.shift();
      if (response.destroyed) return;
      if (event === undefined) response.end();
      else response.write(sse(event), () => setImmediate(next));
    };
    next();
  },
  'goes on for ever': ({ response, events }) => response.write(sse(...events.slice(0, -2))),
  'is broken off by a reset': ({ response, events }) =>
    response.write(sse(...events.slice(0, -2)), () => {
      setImmediate(() => response.socket?.resetAndDestroy());
    }),
};

interface Begun {
  readonly response: Parameters<typeof begin>[0];
  readonly events: readonly unknown[];
}

/** Long enough for whatever a connection has still to say. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What ends the reading of an answer: an error without a listener would fail the test by itself. */
async function outcome(reading: AsyncIterable<unknown>, onChunk: () => unknown): Promise<unknown> {
  try {
    for await (const chunk of reading) {
      void chunk;
      await onChunk();
    }
  } catch (thrown) {
    return thrown;
  }
  return 'ended';
}

describe.each(Object.entries(KINDS))('a client that leaves a %s engine', (_, { kind, events, ask }) => {
  async function setUp(answer: (engine: Begun) => void) {
    const engine = await FakeEngine.start(({ response }) => {
      answer({ response, events: events(3) });
    });
    onCleanUp(() => engine.stop());
    return { engine, client: clientFor(engine.url, { kind }) };
  }

  it.each(Object.entries(ANSWERS))('inside the loop, while the answer %s', async (__, answer) => {
    const { client } = await setUp((engine) => {
      begin(engine.response);
      answer(engine);
    });
    for (let turn = 0; turn < 5; turn++) {
      const controller = new AbortController();
      const reason = new Error('left');
      const leave = () => controller.abort(reason);
      // At once; once the rest has arrived; and a second time.
      const steps = [leave, () => settle().then(leave), () => [leave(), leave()]];
      const ended = await outcome(ask(client, controller.signal), steps[turn % 3] ?? leave);
      if (answer !== ANSWERS['is broken off by a reset']) expect(ended).toBe(reason);
      else expect(ended).not.toBe('ended');
      await settle();
    }
  });

  it('and breaks off the loop itself', async () => {
    const { client } = await setUp(({ response, events: said }) => {
      begin(response);
      response.end(sse(...said));
    });
    for (const first of ['abort', 'break']) {
      const controller = new AbortController();
      for await (const chunk of ask(client, controller.signal)) {
        void chunk;
        if (first === 'abort') controller.abort();
        break;
      }
      controller.abort();
      await settle();
    }
  });

  it('before the headers, when only they have come, and before it has asked', async () => {
    let leave: () => void = () => undefined;
    const { client } = await setUp(() => {
      leave();
    });
    const before = new AbortController();
    leave = () => before.abort();
    expect(await outcome(ask(client, before.signal), settle)).toBe(before.signal.reason);
    const headers = await setUp(({ response }) => {
      begin(response);
      response.flushHeaders();
      void settle().then(leave);
    });
    const behind = new AbortController();
    leave = () => behind.abort();
    expect(await outcome(ask(headers.client, behind.signal), settle)).toBe(behind.signal.reason);
    const never = AbortSignal.abort();
    expect(await outcome(ask(client, never), settle)).toBe(never.reason);
    await settle();
  });

  it('after the end, and the connection stays of use', async () => {
    const { engine, client } = await setUp(({ response, events: said }) => {
      begin(response);
      response.end(sse(...said));
    });
    const ports = new Set<number | undefined>();
    for (let turn = 0; turn < 3; turn++) {
      const controller = new AbortController();
      expect(await outcome(ask(client, controller.signal), () => undefined)).toBe('ended');
      controller.abort();
      ports.add(engine.requests.at(-1)?.response.req.socket.remotePort);
      await settle();
    }
    expect(ports.size).toBe(1);
  });
});
