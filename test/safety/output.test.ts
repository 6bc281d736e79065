import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { byToken, idsOf, ScriptedEngine, type Script } from '../cases/scripted-engine.js';
import { startGateway } from '../e2e/platform.js';
import { SocketClient, terminalOf } from '../e2e/socket-client.js';
import { MARKER } from './marker.js';

/** What a model writes, held against the policy before any of it is shown. */
let engine: ScriptedEngine;
let gateway: Awaited<ReturnType<typeof startGateway>>;
let client: SocketClient;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  gateway = await startGateway(engine.url, ['safety: { output: on, audit: all }']);
});
afterAll(async () => {
  await gateway.stop();
  gateway.cleanUp();
  await engine.stop();
});
beforeEach(async () => {
  client = await SocketClient.connect(gateway.url);
});
afterEach(() => client.close());

const TOOLS = [{ type: 'function', name: 'send', parameters: { type: 'object', properties: {} } }];
const [HEAD, TAIL] = [MARKER.slice(0, 13), MARKER.slice(13)];
/** The marker in two writes, as chunks of an engine cut it. */
const cut = (before: string, after: string): Script => ({
  writes: [idsOf(before + HEAD), idsOf(TAIL + after)],
});

const analysis = (text: string) => `<|channel|>analysis<|message|>${text}<|end|><|start|>assistant`;
const final = (text: string) => `<|channel|>final<|message|>${text}<|return|>`;
const call = (json: string) =>
  `<|channel|>commentary to=functions.send <|constrain|>json<|message|>${json}<|call|>`;

const OUTPUTS: Record<string, Script> = {
  'an answer': cut('<|channel|>final<|message|>safe ', ' tail<|return|>'),
  'an answer, token by token': byToken(final(`safe ${MARKER} tail`)),
  reasoning: cut(
    '<|channel|>analysis<|message|>hm ',
    '<|end|><|start|>assistant<|channel|>final<|message|>fine<|return|>',
  ),
  'a preamble': cut('<|channel|>commentary<|message|>I will ', '<|end|>'),
  'the arguments of a call': cut(
    '<|channel|>commentary to=functions.send <|constrain|>json<|message|>{"body":"',
    '"}<|call|>',
  ),
  'arguments written in escapes': {
    writes: [
      idsOf('<|channel|>commentary to=functions.send <|constrain|>json<|message|>{"body":"'),
      ...byToken(`${MARKER.replaceAll('T', '\\u0054')}"}`).writes,
      idsOf('<|call|>'),
    ],
  },
  'a note before a call': cut('<|channel|>commentary<|message|>', `<|end|><|start|>assistant${call('{}')}`),
  'an output that ends too early': { ...cut('<|channel|>final<|message|>', ''), finish: 'length' },
  'an output that is lost': { ...cut('<|channel|>final<|message|>', ''), finish: null },
  'disguised writing': { writes: [idsOf(final('safe ＴＵＲＮＰＩＫＥ ѕafety t e s t\u200b b l o c k'))] },
};

describe.each(Object.entries(OUTPUTS))('%s that may not be shown', (_name, script) => {
  it('ends the response as incomplete, over both transports, and no byte of it is sent', async () => {
    engine.play(script, script, script);
    const events = await client.create({ input: 'hi', tools: TOOLS, store: false });
    const { response } = terminalOf(events);
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      turnpike: { safety: { state: 'blocked', where: 'output', categories: ['test'] } },
    });
    expect(response.output.filter(({ type }) => type === 'function_call')).toEqual([]);
    expect(response.usage?.output_tokens).toBeGreaterThan(5);
    expectNone(client.raw.join('\n'));
    for (const stream of [true, false]) {
      const answer = await fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        body: JSON.stringify({ model: 'sim', input: 'hi', tools: TOOLS, stream }),
      });
      expect(answer.status).toBe(200);
      const raw = await answer.text();
      expect(raw).toContain('"content_filter"');
      expectNone(raw);
    }
  });

  it('is no part of the chain, which goes on', async () => {
    engine.play(script, { writes: [idsOf(final('fine'))] });
    const first = terminalOf(await client.create({ input: 'hi', tools: TOOLS, store: false })).response;
    engine.takePrompts();
    const next = await client.create({ input: 'and now?', previous_response_id: first.id, store: false });
    expect(terminalOf(next).response.status).toBe('completed');
    const [prompt = ''] = engine.takePrompts();
    expect(prompt).toContain('and now?');
    expect(prompt).not.toContain(HEAD);
  });
});

/** No more than the characters that a phrase may begin with and that ordinary text may end with. */
function expectNone(raw: string): void {
  expect(raw).not.toContain(HEAD.slice(0, 6));
  expect(raw).not.toContain(TAIL.slice(0, 6));
}

describe('what was finished before', () => {
  it('stays: reasoning that is shown, before an answer that is not', async () => {
    engine.play(byToken(analysis('a thought') + final(`safe ${MARKER}`)));
    const { response } = terminalOf(await client.create({ input: 'hi', store: false }));
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning']);
  });
});

describe('an ordinary output', () => {
  const TEXT = 'The turnpike is a road; TURNPIKE-SAFE is not a marker. 안녕하세요 👩‍👩‍👧 tail';

  it('is the same as without a policy, and hardly anything of it is held back', async () => {
    engine.play(byToken(analysis('well') + final(TEXT)));
    const events = await client.create({ input: 'hi', store: false });
    const deltas = events
      .filter(({ type }) => type === 'response.output_text.delta')
      .map(({ delta }) => delta);
    expect(deltas.join('')).toBe(TEXT);
    expect(terminalOf(events).response).toMatchObject({
      status: 'completed',
      turnpike: { safety: { state: 'passed' } },
    });
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const held = [...gateway.output().matchAll(/"where":"output".*?"most_held":(\d+)/g)].at(-1)?.[1];
    process.stdout.write(`most characters held back of an ordinary output: ${held}\n`);
    expect(Number(held)).toBeLessThanOrEqual(MARKER.length);
    expect(gateway.output()).not.toContain(TEXT.slice(0, 20));
  });
});
