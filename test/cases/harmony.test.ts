import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway } from '../e2e/platform.js';
import { SocketClient, textOf, type WireEvent, type WireItem } from '../e2e/socket-client.js';
import { terminal } from '../conformance/stream-rules.js';
import { overBoth } from '../conformance/transports.js';
import { answerOf, callOf, START, THINK, TOOLS } from './harmony-texts.js';
import { byToken, idsOf, ScriptedEngine, whole } from './scripted-engine.js';

/** Reported failures of servers with what gpt-oss writes, each by its number. */
let engine: ScriptedEngine;
let gateway: Awaited<ReturnType<typeof startGateway>>;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  gateway = await startGateway(engine.url, ['store: { kind: memory }']);
});
afterAll(async () => {
  await gateway.stop();
  gateway.cleanUp();
  await engine.stop();
});
const here = () => gateway;

const outputOf = (events: readonly WireEvent[]) => terminal(events).response.output;
const spoken = (item: WireItem) =>
  item.arguments ?? item['input'] ?? item.content?.map(({ text }) => text).join('');
const shown = (events: readonly WireEvent[]) =>
  outputOf(events).map((item) => [item.type, item.name ?? item['phase'], spoken(item)]);

describe('Harmony that is not as it should be', () => {
  overBoth('C02: the <|message|> token is missing', here, async (client) => {
    const refuse = "I'm sorry, but I can't help with that.";
    const cases: [string, unknown[]][] = [
      [
        `I must refuse<|end|>${START}<|channel|>analysis<|message|>We must refuse<|end|>${START}${answerOf(refuse)}<|return|>`,
        [
          ['message', 'final_answer', 'I must refuse'],
          ['reasoning', undefined, 'We must refuse'],
          ['message', 'final_answer', refuse],
        ],
      ],
      [
        `<|channel|>analysis I must refuse<|end|>${START}${answerOf('No.')}<|return|>`,
        [
          ['reasoning', undefined, 'I must refuse'],
          ['message', 'final_answer', 'No.'],
        ],
      ],
      [
        `... Let's use the tool.<|end|>${START} to=functions.get_weather<|channel|>commentary json<|message|>{"location": "Tokyo"}<|call|>`,
        [
          ['message', 'final_answer', "... Let's use the tool."],
          ['function_call', 'get_weather', '{"location": "Tokyo"}'],
        ],
      ],
    ];
    for (const [text, expected] of cases) {
      for (const script of [whole(text), byToken(text)]) {
        engine.play(script);
        const events = await client.create({ input: 'x', tools: TOOLS });
        expect(terminal(events).response.status).toBe('completed');
        expect(shown(events)).toEqual(expected);
      }
    }
  });

  overBoth('C03: the recipient and the constrain mark may stand anywhere', here, async (client) => {
    const cases: [string, string][] = [
      [callOf('get_weather', '{}'), 'get_weather'],
      [
        `${START} to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{}`,
        'get_weather',
      ],
      ['<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{}', 'get_weather'],
      ['<|channel|>commentary to=functions.get_weather<|message|>{}', 'get_weather'],
      ['<|channel|>commentary to=functions.web-browsing code<|message|>{}', 'web-browsing'],
      ['<|channel|>analysis to=functions.get_weather code<|message|>{}', 'get_weather'],
      // Nobody declared it: the client is told, and can say so.
      ['<|channel|>commentary to=functions.nobody <|constrain|>json<|message|>{}', 'nobody'],
    ];
    for (const [text, name] of cases) {
      engine.play(byToken(`${text}<|call|>`));
      const events = await client.create({ input: 'x', tools: TOOLS });
      expect([text, shown(events)]).toEqual([text, [['function_call', name, '{}']]]);
    }
  });

  overBoth('C05: a call ends by another token, or by none', here, async (client) => {
    const call = `${THINK}${callOf('get_weather', '{"city":"Berlin"}')}`;
    for (const end of ['', '<|end|>', '<|return|>', '<|endoftext|>']) {
      engine.play(byToken(call + end));
      const { response } = terminal(await client.create({ input: 'x', tools: TOOLS }));
      expect(response.status).toBe('completed');
      expect(response.output[1]).toMatchObject({
        type: 'function_call',
        arguments: '{"city":"Berlin"}',
        status: 'completed',
      });
    }
    engine.play({ ...byToken(`${THINK}${callOf('get_weather', '{"city":"Ber')}`), finish: 'length' });
    const { response } = terminal(await client.create({ input: 'x', tools: TOOLS }));
    expect(response.status).toBe('incomplete');
    expect(response.output[1]).toMatchObject({ arguments: '{"city":"Ber', status: 'incomplete' });
  });

  overBoth('C07: bytes that are not UTF-8 across tokens', here, async (client) => {
    const head = idsOf('<|channel|>final<|message|>');
    const cases: [number[], string][] = [
      [[9552, 9552, ...idsOf('worked<|end|>')], ' \ufffd \ufffdworked'],
      [[9552, ...idsOf('XY<|return|>')], ' \ufffdXY'],
      [[9552, ...idsOf(' interesting story')], ' \ufffd interesting story'],
      [[9552], ' \ufffd'],
    ];
    for (const [ids, want] of cases) {
      for (const writes of [[[...head, ...ids]], [...head, ...ids].map((id) => [id])]) {
        engine.play({ writes });
        expect(textOf(await client.create({ input: 'x' }))).toBe(want);
      }
    }
  });

  overBoth('C08: emoji and CJK that are split over tokens or chunks arrive whole', here, async (client) => {
    const text = 'Müller, Γειά, नमस्ते, こんにちは, nai\u0308ve, 😊👋🏾👨‍👩‍👧‍👦🇺🇸';
    const ids = idsOf(`${answerOf(text)}<|return|>`);
    const cuts = [1, 2, 3, 7].map((size) =>
      Array.from({ length: Math.ceil(ids.length / size) }, (_, index) =>
        ids.slice(index * size, (index + 1) * size),
      ),
    );
    for (const writes of cuts) {
      engine.play({ writes });
      const events = await client.create({ input: 'x' });
      const deltas = events.flatMap(({ type, delta = '' }) => (type.endsWith('_text.delta') ? [delta] : []));
      expect(deltas.join('')).toBe(text);
      for (const delta of deltas) expect(delta.isWellFormed() && !delta.includes('\ufffd')).toBe(true);
    }
    // What never becomes whole is replaced at the end.
    engine.play({ writes: [ids.slice(0, -2)], finish: 'length' });
    expect(textOf(await client.create({ input: 'x' })).isWellFormed()).toBe(true);
  });
});

it('B12: an engine that is lost leaves a failed response with what there was, and an open socket', async () => {
  const client = await SocketClient.connect(gateway.url);
  const half = answerOf('half of an answer in ten tokens or so');
  engine.play({ ...byToken(half), finish: null });
  const events = await client.create({ input: 'x' });
  expect(events.at(-1)?.type).toBe('response.failed');
  expect(terminal(events).response).toMatchObject({
    error: { code: 'server_error' },
    output: [
      { type: 'message', status: 'incomplete', content: [{ text: 'half of an answer in ten tokens or so' }] },
    ],
    usage: { output_tokens: idsOf(half).length },
  });
  engine.play(whole(`${answerOf('fine')}<|return|>`));
  expect(textOf(await client.create({ input: 'y' }))).toBe('fine');
  client.close();
});
