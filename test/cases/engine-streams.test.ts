import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { startGateway } from '../e2e/platform.js';
import { textOf, type WireEvent, type WireItem } from '../e2e/socket-client.js';
import { usage } from '../conformance/response-shape.js';
import { idOf, itemsOf, terminal } from '../conformance/stream-rules.js';
import { normalised, overBoth, postJson, type Body } from '../conformance/transports.js';
import { answerOf, callOf, PATCH, START, THINK, TOOLS, WEATHER } from './harmony-texts.js';
import { byToken, idsOf, ScriptedEngine, whole, type Script } from './scripted-engine.js';

/** Reported failures of servers with what engines send, each by its number. What a case gives as chat deltas is Harmony here. */
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

const typesOf = (events: readonly WireEvent[]) =>
  normalised(events).map(({ type }) => type.replace('response.', ''));
const outputOf = (events: readonly WireEvent[]) => terminal(events).response.output;
const spoken = (item: WireItem) =>
  item.arguments ?? item['input'] ?? item.content?.map(({ text }) => text).join('');

/** The answer without a stream to one script. */
async function answer(script: Script, body: Body): Promise<{ output: WireItem[]; status: string }> {
  engine.play(script);
  return JSON.parse((await postJson(gateway.url, body)).text) as { output: WireItem[]; status: string };
}

describe('calls', () => {
  overBoth('A08: a custom (freeform) tool comes back as a raw string, not JSON', here, async (client) => {
    const text = '*** Begin Patch\n*** End Patch';
    for (const [content, type] of [
      [JSON.stringify({ input: text }), ' <|constrain|>json'],
      [JSON.stringify(text), ' json'],
      [text, ''],
    ]) {
      engine.play(
        byToken(`<|channel|>commentary to=functions.apply_patch${type}<|message|>${content}<|call|>`),
      );
      const events = await client.create({ input: 'x', tools: [PATCH] });
      const [call] = outputOf(events);
      expect(call).toMatchObject({
        type: 'custom_tool_call',
        name: 'apply_patch',
        input: text,
        status: 'completed',
      });
      const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta');
      expect(deltas.map(({ delta }) => delta).join('')).toBe(text);
      engine.takePrompts();
      engine.play(whole(`${answerOf('done')}<|return|>`));
      const output = { type: 'custom_tool_call_output', call_id: call?.call_id, output: 'ok' };
      const next = await client.create({
        previous_response_id: idOf(events),
        input: [output],
        tools: [PATCH],
      });
      expect(textOf(next)).toBe('done');
      // What the model wrote is what it sees again.
      expect(engine.takePrompts()[0]).toContain(`${type}<|message|>${content}<|call|>`);
    }
  });

  overBoth('A09: output_item.done follows output_index order', here, async (client) => {
    const script = `<|channel|>commentary<|message|>Let me look.<|end|>${START}${callOf('get_weather', '{"city":"Oslo"}')}<|call|>`;
    engine.play(byToken(script));
    const events = await client.create({ input: 'x', tools: TOOLS });
    const items = itemsOf(events);
    expect(items.map(({ index, added }) => [index, added.type])).toEqual([
      [0, 'message'],
      [1, 'function_call'],
    ]);
    const order = (type: string) =>
      events.flatMap((event) => (event.type === type ? [event['output_index']] : []));
    expect([order('response.output_item.added'), order('response.output_item.done')]).toEqual([
      [0, 1],
      [0, 1],
    ]);
    const plain = await answer(whole(script), { input: 'x', tools: TOOLS });
    expect(plain.output.map(spoken)).toEqual(outputOf(events).map(spoken));
  });

  overBoth('A10: one item, one id: engine chunk ids neither leak nor change', here, async (client) => {
    engine.play(byToken(`${THINK}${callOf('f', '{}')}<|call|>`));
    const events = await client.create({ input: 'x', tools: TOOLS });
    expect(JSON.stringify(events)).not.toContain('cmpl-');
    const ids = itemsOf(events).map(
      ({ events: own }) => new Set(own.map((event) => event.item?.id ?? event['item_id'])),
    );
    expect(ids.map((set) => set.size)).toEqual([1, 1]);
    expect(outputOf(events).map(({ id }) => id?.split('_')[0])).toEqual(['rs', 'fc']);
  });

  overBoth('A12: no .done event is missing, nor the id of a call', here, async (client) => {
    engine.play(
      byToken(`${answerOf('4')}<|return|>`),
      byToken(`${callOf('get_weather', '{"city":"Oslo"}')}<|call|>`),
    );
    expect(typesOf(await client.create({ input: '2+2?' }))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ]);
    const events = await client.create({ input: 'weather in Oslo?', tools: [WEATHER] });
    expect(typesOf(events)).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events[2]?.item).toMatchObject({
      arguments: '',
      id: expect.stringMatching(/^fc_/),
      call_id: expect.stringMatching(/^call_/),
    });
  });

  overBoth('A13: reasoning streams as content parts of type reasoning_text', here, async (client) => {
    engine.play(
      byToken(`<|channel|>analysis<|message|>Thinking.<|end|>${START}${answerOf('Answer')}<|return|>`),
    );
    const events = await client.create({ input: 'x' });
    const [reasoning, message] = itemsOf(events);
    expect(typesOf(reasoning?.events ?? [])).toEqual([
      'output_item.added',
      'content_part.added',
      'reasoning_text.delta',
      'reasoning_text.done',
      'content_part.done',
      'output_item.done',
    ]);
    expect(reasoning?.added).toMatchObject({ type: 'reasoning', summary: [] });
    expect(reasoning?.events[1]?.['part']).toEqual({ type: 'reasoning_text', text: '' });
    expect([message?.index, message?.added.type]).toEqual([1, 'message']);
    expect(events.some(({ type }) => type.includes('reasoning_part'))).toBe(false);
  });

  overBoth('A14: one engine chunk that crosses channels is read like single tokens', here, async (client) => {
    const text = `${THINK}${callOf('get_weather', '{"city":"Berlin"}')}<|call|>`;
    const ids = idsOf(text);
    const cuts = [
      [ids],
      ids.map((id) => [id]),
      [ids.slice(0, 5), ids.slice(5)],
      [ids.slice(0, -1), ids.slice(-1)],
    ];
    const answers = [];
    for (const writes of cuts) {
      engine.play({ writes });
      answers.push(normalised(await client.create({ input: 'x', tools: TOOLS })));
    }
    for (const events of answers) expect(events).toEqual(answers[0]);
    expect(answers[0]?.at(-1)?.response?.output.map(({ type }) => type)).toEqual([
      'reasoning',
      'function_call',
    ]);
  });

  overBoth('A16: the ids of calls are unique in the whole chain', here, async (client) => {
    const two = `${callOf('f', '{}').replace('{}', '{}<|end|>')}${START}${callOf('f', '{}')}<|call|>`;
    const seen: unknown[] = [];
    let previous: string | undefined;
    let input: unknown = 'x';
    for (let turn = 0; turn < 3; turn++) {
      engine.play(byToken(two));
      const events = await client.create({
        input,
        tools: TOOLS,
        parallel_tool_calls: true,
        previous_response_id: previous,
      });
      const calls = outputOf(events);
      expect(calls.map(({ type }) => type)).toEqual(['function_call', 'function_call']);
      seen.push(...calls.map(({ call_id }) => call_id));
      input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' }));
      previous = idOf(events);
    }
    expect(new Set(seen).size).toBe(6);
    engine.play(byToken(two));
    expect(
      outputOf(await client.create({ input: 'x', tools: TOOLS, parallel_tool_calls: false })),
    ).toHaveLength(1);
  });
});

describe('ends', () => {
  overBoth('A21: usage carries every counter, whatever the engine says of it', here, async (client) => {
    const output = `${THINK}${answerOf('ok')}<|return|>`;
    for (const [said, cached] of [
      [undefined, 0],
      [{ prompt_tokens: 10, completion_tokens: 4, total_tokens: 14, prompt_tokens_details: null }, 0],
      [{ prompt_tokens: null, prompt_tokens_details: { cached_tokens: null } }, 0],
      [{ prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 1e9 } }, 'all'],
      [{ prompt_tokens_details: { cached_tokens: -5 } }, 0],
      [{ prompt_tokens_details: { cached_tokens: 7 } }, 7],
      ['nonsense', 0],
      [null, 0],
    ] as const) {
      for (const [finish, status] of [
        ['stop', 'completed'],
        ['length', 'incomplete'],
        [null, 'failed'],
      ] as const) {
        engine.play({ writes: [idsOf(output)], finish, usage: said });
        const { response } = terminal(await client.create({ input: 'x', store: false }));
        const used = usage.parse(response.usage);
        expect(response.status).toBe(status);
        expect(used.output_tokens).toBe(idsOf(output).length);
        // What comes behind an answer that was cut off is not read.
        if (finish === null) continue;
        expect(used.input_tokens_details.cached_tokens).toBe(cached === 'all' ? used.input_tokens : cached);
      }
    }
  });

  overBoth('A22: the token limit is incomplete, also in the middle of a call', here, async (client) => {
    const args = '{"cmd":"rm -rf /tmp/x';
    for (const [text, type] of [
      ['<|channel|>analysis<|message|>long and', 'reasoning'],
      [callOf('f', args), 'function_call'],
      [`<|channel|>commentary to=functions.apply_patch<|message|>${args}`, 'custom_tool_call'],
      [answerOf('half an ans'), 'message'],
    ]) {
      engine.play({ ...byToken(text ?? ''), finish: 'length' });
      const { response } = terminal(await client.create({ input: 'x', tools: TOOLS }));
      expect(response).toMatchObject({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        usage: { output_tokens: idsOf(text ?? '').length },
      });
      expect(response.output).toMatchObject([{ type, status: 'incomplete' }]);
      if (type?.endsWith('call')) expect(spoken(response.output[0] ?? { type: '' })).toBe(args);
    }
  });

  overBoth('A23: text.format is enforced although the model thinks first', here, async (client) => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const text = { format: { type: 'json_schema', name: 'p', strict: true, schema } };
    const cases: [string, string][] = [
      ['{"name":"Ada","age":36}', 'completed'],
      ['{"name":"Ada","age":"36"}', 'failed'],
      ['{"name":"Ada"}', 'failed'],
      ['{"name":"Ada","age":36,"more":1}', 'failed'],
      ['Here it is: {"name":"Ada","age":36}', 'failed'],
      ['```json\n{"name":"Ada","age":36}\n```', 'failed'],
      ['', 'failed'],
    ];
    for (const [said, status] of cases) {
      // Reasoning that would be valid JSON is no answer.
      engine.play(
        byToken(
          `<|channel|>analysis<|message|>{"name":"no","age":1}<|end|>${START}${answerOf(said)}<|return|>`,
        ),
      );
      const { response } = terminal(await client.create({ input: 'Name and age.', text }));
      expect([said, response.status]).toEqual([said, status]);
    }
  });
});
