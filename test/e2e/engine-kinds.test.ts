import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HARMONY, harmony } from '@turnpike/formats';
import {
  llamaServerApi,
  sglangApi,
  tensorrtLlmApi,
  vllmGenerateApi,
} from '../../libs/inference/testing/engine-apis.js';
import { PlayedEngine } from '../../libs/inference/testing/played-engine.js';
import { answerOf, callOf, THINK, WEATHER } from '../cases/harmony-texts.js';
import { idsOf } from '../cases/scripted-engine.js';
import { idOf, terminal } from '../conformance/stream-rules.js';
import { connect, overBoth } from '../conformance/transports.js';
import { App } from './platform.js';
import { SocketClient, textOf } from './socket-client.js';

/** Tool loops with every kind of server that takes token ids, each a fake that behaves as that kind does. */
const STOPS = [HARMONY.call, HARMONY.return];
const KINDS = {
  vllm: () => vllmGenerateApi(),
  sglang: () => sglangApi(),
  'sglang-incremental': () => sglangApi({ incremental: true }),
  'llama-server': () => llamaServerApi(harmony().tokenizer, STOPS),
  'tensorrt-llm': () => tensorrtLlmApi(),
};
type Kind = keyof typeof KINDS;

const engines = new Map<Kind, PlayedEngine>();
const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
let gateway: App;
const here = () => gateway;

function engineOf(kind: Kind): PlayedEngine {
  const engine = engines.get(kind);
  if (engine === undefined) throw new Error(`there is no ${kind}`);
  return engine;
}

beforeAll(async () => {
  const lines = ['port: 0', 'store: { kind: memory }'];
  const urls: string[] = [];
  const models: string[] = [];
  for (const kind of Object.keys(KINDS) as Kind[]) {
    const engine = await PlayedEngine.start(KINDS[kind]());
    engines.set(kind, engine);
    urls.push(`  ${kind}: { url: "${engine.url}" }`);
    models.push(`  ${kind}: { engine: ${kind} }`);
  }
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(config, [...lines, 'engines:', ...urls, 'models:', ...models].join('\n'));
  gateway = await App.start('gateway', ['--config', config]);
});
afterAll(async () => {
  await gateway.stop();
  for (const engine of engines.values()) await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

const CALLS = ['{"city":"서울"}', '{"city":"Łódź 🫠"}'];
const ANSWER = 'Sunny, 🧑‍🚀 and 🫠.';

describe.each(Object.keys(KINDS) as Kind[])('%s', (model) => {
  overBoth(
    'sees in each turn of a tool loop what it sampled before, token for token',
    here,
    async (client) => {
      const engine = engineOf(model);
      const outputs = [
        ...CALLS.map((args) => idsOf(`${THINK}${callOf('get_weather', args)}<|call|>`)),
        idsOf(`${THINK.replace('tool', 'nothing')}${answerOf(ANSWER)}<|return|>`),
      ];
      engine.play(...outputs.map((ids) => ({ ids })));
      const from = engine.calls.length;
      let input: unknown = `weather, over ${client.transport}?`;
      let previous: string | undefined;
      const usages = [];
      for (const args of [...CALLS, undefined]) {
        const events = await client.create({
          model,
          tools: [WEATHER],
          input,
          previous_response_id: previous,
        });
        const { response } = terminal(events);
        expect(response.status).toBe('completed');
        const call = response.output.at(-1);
        if (args === undefined) expect(textOf(events)).toBe(ANSWER);
        else expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', arguments: args });
        input = [{ type: 'function_call_output', call_id: call?.call_id, output: '21 °C' }];
        previous = response.id;
        usages.push(response.usage);
      }
      const calls = engine.calls.slice(from);
      expect(calls).toHaveLength(3);
      for (const [turn, call] of calls.slice(1).entries()) {
        const before = calls[turn];
        const known = [...(before?.prompt ?? []), ...(outputs[turn] ?? [])];
        expect(call.prompt.slice(0, known.length)).toEqual(known);
        expect(usages[turn + 1]?.input_tokens_details.cached_tokens).toBe(known.length);
      }
      expect(usages.map((usage) => usage?.output_tokens)).toEqual(outputs.map(({ length }) => length));
      expect(usages.map((usage) => usage?.input_tokens)).toEqual(calls.map(({ prompt }) => prompt.length));
    },
  );

  overBoth('that breaks off fails the response once, and the chain goes on', here, async (client) => {
    const engine = engineOf(model);
    const begun = await (async () => {
      engine.play({ ids: idsOf(`${answerOf('hi')}<|return|>`) });
      return client.create({ model, input: 'x', tools: [WEATHER] });
    })();
    const half = idsOf(`${THINK}${answerOf('half an ans')}`);
    engine.play({ ids: half, finish: null }, { ids: idsOf(`${answerOf('whole')}<|return|>`) });
    const body = { model, input: 'y', previous_response_id: idOf(begun) };
    const broken = await client.create(body);
    const { response } = terminal(broken);
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(broken.filter(({ type }) => type === 'response.failed')).toHaveLength(1);
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(response.usage?.output_tokens).toBe(half.length);
    const next = await client.create(body);
    expect(textOf(next)).toBe('whole');
  });
});

/** Reads from a raw HTTP connection until three events have come, then ends it as it is told. */
async function leaveOverHttp(
  model: Kind,
  leave: (socket: ReturnType<typeof connectTcp>) => void,
): Promise<string> {
  const body = JSON.stringify({ model, input: 'x', stream: true });
  const { hostname, port } = new URL(gateway.url);
  const socket = connectTcp(Number(port), hostname);
  socket.write(
    `POST /v1/responses HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  let text = '';
  await new Promise<void>((resolve) => {
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      const known = text.split('event: ').length;
      text += String(chunk);
      if (known <= 3 && text.split('event: ').length > 3) leave(socket);
    });
  });
  return /"id":"(resp_\w+)"/.exec(text)?.[1] ?? '';
}

describe('D01: a client that leaves in the middle', () => {
  const ids = idsOf(`${answerOf('one two three four')}`);

  it.each<[string, (model: Kind) => Promise<string>]>([
    ['over HTTP, by a reset', (model) => leaveOverHttp(model, (socket) => socket.resetAndDestroy())],
    ['over HTTP, by half a close, as proxies do', (model) => leaveOverHttp(model, (socket) => socket.end())],
    [
      'over WebSocket',
      async (model) => {
        const client = await SocketClient.connect(gateway.url);
        client.send({ type: 'response.create', model, input: 'x' });
        await client.until(() => client.events.length >= 3);
        client.socket.terminate();
        return client.events[0]?.response?.id ?? '';
      },
    ],
  ])('%s ends the work of the engine, and what was sampled is counted', async (_, leave) => {
    const engine = engineOf('sglang');
    const before = { closed: engine.closed, aborts: engine.aborts.length };
    engine.play({ ids, hangs: true });
    const id = await leave('sglang');
    const rounds = 1_000;
    let round = 0;
    while (engine.closed === before.closed || engine.aborts.length === before.aborts) {
      if (round++ > rounds) throw new Error('the engine was not told');
      await setTimeout(5);
    }
    const stored = async () =>
      (await (await fetch(`${gateway.url}/v1/responses/${id}`)).json()) as {
        status?: string;
        usage?: { output_tokens: number };
      };
    let response = await stored();
    while (response.status === undefined || response.status === 'in_progress') {
      await setTimeout(5);
      response = await stored();
    }
    expect(response.status).toBe('incomplete');
    expect(response.usage?.output_tokens).toBeGreaterThan(0);
  });

  it('and one that stays is served meanwhile', async () => {
    const client = await connect('http', here());
    engineOf('sglang').play({ ids: idsOf(`${answerOf('here')}<|return|>`) });
    expect(textOf(await client.create({ model: 'sglang', input: 'x' }))).toBe('here');
  });
});
