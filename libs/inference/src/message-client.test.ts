import { afterEach, describe, expect, it } from '@jest/globals';
import { sse } from '../testing/fake-engine.js';
import { clientFor, cleanUp, codeOf, NEVER, onCleanUp } from '../testing/harness.js';
import { delta, MessageServer, usage } from '../testing/message-server.js';
import { ChatReader } from './chat/chat-reader.js';
import type { MessageChunk, MessageRequest } from './messages.js';

afterEach(cleanUp);

async function setUp() {
  const server = await MessageServer.start('/v1/chat/completions');
  onCleanUp(() => server.stop());
  return { server, client: clientFor(server.url, { kind: 'chat' }) };
}

const request = (settings: object = {}): MessageRequest => ({
  api: 'chat',
  settings: { model: 'm', stream: true, ...settings },
  lists: { tools: [], messages: [Buffer.from('{"role":"user",'), Buffer.from('"content":"x"}')] },
  reader: new ChatReader({ targets: new Map(), estimate: (text) => text.length }),
});

async function drain(client: ReturnType<typeof clientFor>, asked: MessageRequest, signal = NEVER) {
  const chunks: MessageChunk[] = [];
  try {
    for await (const chunk of client.converse?.(asked, signal) ?? []) chunks.push(chunk);
  } catch (thrown) {
    return { chunks, error: thrown };
  }
  return { chunks, error: undefined };
}

const textOf = (chunks: readonly MessageChunk[]) =>
  chunks.flatMap(({ events }) => events.map((event) => (event.kind === 'text' ? event.text : ''))).join('');

describe('a server that takes messages', () => {
  it('gets them as they are, without lists that are empty, and is read to its end', async () => {
    const { server, client } = await setUp();
    server.play([delta({ content: 'a' }), delta({ content: 'b' }, 'stop'), usage(5, 2, 2, 0), sse('[DONE]')]);
    const { chunks, error } = await drain(client, request());
    expect(error).toBeUndefined();
    expect(server.bodies).toEqual(['{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}']);
    expect(textOf(chunks)).toBe('ab');
    expect(chunks.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(2);
    expect(chunks.findLast((chunk) => chunk.finish)?.finish).toBe('stop');
    expect(chunks.findLast((chunk) => chunk.usage)?.usage).toMatchObject({
      promptTokens: 5,
      cachedTokens: 2,
    });
  });

  it('that refuses optional fields gets requests without them, from then on', async () => {
    const { server, client } = await setUp();
    server.refuses.set(
      'max_tokens',
      "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    );
    server.refuses.set('stream_options', 'Unrecognized request argument supplied: stream_options');
    const settings = { max_tokens: 5, stream_options: { include_usage: true } };
    for (const _ of [1, 2]) {
      server.play([delta({ content: 'a' }, 'stop')]);
      expect(textOf((await drain(client, request(settings))).chunks)).toBe('a');
    }
    const sent = server.bodies.map((body) => Object.keys(JSON.parse(body) as object));
    expect(sent).toHaveLength(4);
    expect(sent.slice(2)).toEqual([
      ['model', 'stream', 'max_completion_tokens', 'messages'],
      ['model', 'stream', 'max_completion_tokens', 'messages'],
    ]);
  });

  it('that takes no limit is cut where the limit is, about', async () => {
    const { server, client } = await setUp();
    server.refuses.set('max_tokens', "'max_tokens' is not supported");
    server.refuses.set('max_completion_tokens', "'max_completion_tokens' is not supported");
    for (const _ of [1, 2]) {
      server.play({ events: Array.from({ length: 9 }, () => delta({ content: 'abc' })), hangs: true });
      const { chunks } = await drain(client, request({ max_tokens: 7 }));
      expect([textOf(chunks), chunks.at(-1)?.finish]).toEqual(['abcabcabc', 'length']);
    }
    while (server.closed < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it('that takes a limit is held to it by its own count, and cut where no count could be right', async () => {
    const { server, client } = await setUp();
    const said = Array.from({ length: 300 }, () => delta({ content: '한글.'.repeat(4) }));
    server.play([...said.slice(0, 25), delta({}, 'length')], { events: said, hangs: true });
    const kept = await drain(client, request({ max_completion_tokens: 5 }));
    expect([textOf(kept.chunks).length, kept.chunks.at(-1)?.finish]).toEqual([25 * 12, 'length']);
    const { chunks, error } = await drain(client, request({ max_tokens: 5 }));
    expect([Buffer.byteLength(textOf(chunks)), chunks.at(-1)?.finish]).toEqual([1_120, 'length']);
    expect(error).toBeUndefined();
    while (server.closed < 1) await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it('that refuses something else is not asked again, and nothing is learnt from it', async () => {
    const { server, client } = await setUp();
    server.refuses.set('messages', 'The messages are invalid: temperature');
    const { error } = await drain(client, request({ temperature: 0.5 }));
    expect(codeOf(error)).toBe('engine_refused');
    server.refuses.clear();
    server.play([delta({ content: 'a' }, 'stop')]);
    await drain(client, request({ temperature: 0.5 }));
    expect(server.bodies.at(-1)).toContain('"temperature":0.5');
  });

  it.each([
    ['D09: that just stops', [delta({ content: 'half' })]],
    [
      'D10: with an error in its stream',
      [delta({ content: 'half' }), { error: { message: 'x', code: 500 } }],
    ],
    ['that says nothing we know', [delta({ content: 'half' }), 'data: nonsense\n\n']],
  ])('%s is an error behind what came', async (_, events) => {
    const { server, client } = await setUp();
    server.play(events);
    const { chunks, error } = await drain(client, request());
    expect([textOf(chunks), codeOf(error)]).toEqual(['half', 'engine_error']);
  });

  it('D01: is told that nobody wants the rest', async () => {
    const { server, client } = await setUp();
    server.play({ events: [delta({ content: 'a' })], hangs: true });
    const leaving = new AbortController();
    const reading = (async () => {
      for await (const _ of client.converse?.(request(), leaving.signal) ?? []) leaving.abort();
    })();
    await expect(reading).rejects.toThrow('aborted');
    while (server.closed === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  });

  it('takes no token ids, and says so', async () => {
    const { client } = await setUp();
    expect(await client.capabilities()).toMatchObject({ tokensIn: false, tokensOut: 'none', grammars: [] });
    expect(() => client.generate({} as never, NEVER)).toThrow(
      expect.objectContaining({ code: 'engine_error' }),
    );
  });
});
