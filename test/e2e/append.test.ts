import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { SocketClient, terminalOf, textOf, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(async () => {
  await stand.stop();
});
beforeEach(async () => {
  client = await SocketClient.connect(stand.url);
  stand.prompts.length = 0;
});
afterEach(() => client.close());

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];
/** Starts a response that stays open at its calls. */
const open = (input: string, fields: object = {}) =>
  client.send({ type: 'response.create', model: 'sim', append: true, tools: TOOLS, input, ...fields });
const all = (type: string) => client.events.filter((event) => event.type === type);
const outputOf = ({ call_id }: WireItem) => ({
  type: 'function_call_output',
  call_id,
  output: `for ${call_id}`,
});
const calls = () =>
  all('response.output_item.done').flatMap(({ item }) => (item?.call_id === undefined ? [] : [item]));

describe('a response that stays open (append)', () => {
  it('is not found on a stream that it does not run on', async () => {
    open('x [sim calls=1]');
    await client.until(() => all('response.done').length === 1);
    const { response_id, output } = all('response.done')[0] as { response_id?: string; output?: WireItem[] };
    const append = { type: 'response.append', response_id, input: (output ?? []).map(outputOf) };
    client.send({ ...append, stream_id: 'other' });
    await client.until(() => all('error').length === 1);
    expect(all('error')[0]).toMatchObject({
      stream_id: 'other',
      error: { code: 'response_not_found', param: 'response_id' },
    });
    client.send(append);
    await client.until(() => all('response.completed').length === 1);
  });

  it('pauses at its calls, and goes on with what is appended, as one response', async () => {
    open('x [sim calls=3]');
    for (let step = 1; step <= 3; step++) {
      await client.until(() => all('response.done').length === step);
      const done = all('response.done').at(-1);
      expect(done).toMatchObject({
        response_id: client.events[0]?.response?.id,
        output: [{ type: 'function_call' }],
      });
      client.send({ type: 'response.append', input: (done?.['output'] as WireItem[]).map(outputOf) });
    }
    await client.until(() => all('response.completed').length > 0);
    const { events } = client;
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    expect(all('response.created')).toHaveLength(1);
    const { response } = terminalOf(events);
    const types = response.output.map(({ type }) => type).filter((type) => type !== 'reasoning');
    expect(types).toEqual(['function_call', 'function_call', 'function_call', 'message']);
    expect(textOf(events)).toContain('3 tool outputs');
    // Each prompt continues the one before, token for token.
    stand.prompts.forEach((prompt, index) => {
      const before = (stand.prompts[index - 1] ?? []).slice(0, -2);
      expect(prompt.slice(0, before.length)).toEqual(before);
    });
    const last = stand.prompts.at(-1)?.length ?? 0;
    expect(response.usage?.input_tokens).toBeLessThan(last);
    // The chain goes on as if its steps had been responses of their own.
    const next = await client.create({
      previous_response_id: response.id,
      input: 'y [sim calls=0]',
      tools: TOOLS,
    });
    expect(textOf(next)).toContain('You said: "y". (message 2, 3 tool outputs)');
  });

  it('gives the same prompt as separate responses do', async () => {
    const body = { tools: TOOLS, store: false, instructions: 'Be brief.' };
    const input = 'same [sim calls=1]';
    const started = await client.create({ ...body, input });
    const [call] = terminalOf(started).response.output.filter(({ call_id }) => call_id !== undefined);
    const output = { type: 'function_call_output', call_id: call?.call_id, output: 'found' };
    await client.create({ ...body, previous_response_id: terminalOf(started).response.id, input: [output] });
    const apart = stand.prompts.splice(0);
    client.send({ type: 'response.create', model: 'sim', append: true, ...body, input });
    await client.until(() => all('response.done').length === 1);
    const [own] = all('response.done')[0]?.['output'] as WireItem[];
    client.send({ type: 'response.append', input: [{ ...output, call_id: own?.call_id }] });
    await client.until(() => all('response.completed').length === 3);
    expect(stand.prompts).toEqual(apart);
  });

  it('refuses what no call waits for, and stays open', async () => {
    open('x [sim calls=1]');
    await client.until(() => all('response.done').length === 1);
    for (const [input, param] of [
      [[{ type: 'function_call_output', call_id: 'call_x', output: '' }], 'input'],
      ['text', 'input[0]'],
      [[], 'input'],
      [[{ type: 'function_call_output', output: '' }], 'input[0].call_id'],
    ] as const) {
      client.send({ type: 'response.append', input });
      const from = client.events.length;
      await client.until(() => client.events.length > from);
      expect(client.events.at(-1)).toMatchObject({ type: 'error', status: 400, error: { param } });
    }
    client.send({ type: 'response.append', input: calls().map(outputOf) });
    await client.until(() => all('response.completed').length === 1);
  });

  it('makes as many calls as it may in all, and then answers', async () => {
    open('x [sim calls=3]', { max_tool_calls: 1, tool_choice: 'required' });
    await client.until(() => all('response.done').length === 1);
    client.send({ type: 'response.append', input: calls().map(outputOf) });
    await client.until(() => all('response.completed').length === 1);
    expect(calls()).toHaveLength(1);
    expect(textOf(client.events)).toContain('1 tool output');
  });

  it('is stored whole, with what was appended in its chain', async () => {
    open('x [sim calls=1]');
    await client.until(() => all('response.done').length === 1);
    client.send({ type: 'response.append', input: calls().map(outputOf) });
    await client.until(() => all('response.completed').length === 1);
    const { response } = terminalOf(client.events);
    const api = new OpenAI({ apiKey: 'none', baseURL: `${stand.url}/v1` });
    const stored = await api.responses.retrieve(response.id);
    expect(stored.output).toEqual(response.output);
    const next = await api.responses.create({
      model: 'sim',
      previous_response_id: response.id,
      input: 'y [sim calls=0]',
    });
    expect(next.output_text).toContain('1 tool output');
  });

  it('can be interrupted while it waits, and answered afterwards', async () => {
    open('x [sim calls=1]');
    await client.until(() => all('response.done').length === 1);
    const id = client.events[0]?.response?.id;
    client.send({ type: 'response.interrupt', response_id: id });
    await client.until(() => all('response.incomplete').length === 1);
    const answer = await client.create({
      previous_response_id: id,
      input: calls().map(outputOf),
      tools: TOOLS,
    });
    expect(textOf(answer)).toContain('1 tool output');
  });

  it.each([
    ['interrupted', 'response.incomplete', {}],
    ['cut short', 'response.incomplete', { max_output_tokens: 60 }],
  ])(
    'keeps what was given in its chain when it is %s before all calls are answered',
    async (_, ends, limit) => {
      open('x [sim parallel=2 reason=0]', limit);
      await client.until(() => calls().length > 0 || all(ends).length > 0);
      const [given] = calls();
      client.send({
        type: 'response.append',
        input: [given ?? {}].map((each) => outputOf(each as WireItem)),
      });
      if (!('max_output_tokens' in limit)) await client.until(() => all('response.done').length === 1);
      const response_id = client.events[0]?.response?.id;
      client.send({ type: 'response.interrupt', response_id });
      await client.until(() => all(ends).length === 1);
      const rest = calls().filter(
        ({ call_id, status }) => call_id !== given?.call_id && status === 'completed',
      );
      const answer = await client.create({
        previous_response_id: response_id,
        input: [...rest.map(outputOf), { role: 'user', content: 'y [sim calls=0]' }],
        tools: TOOLS,
      });
      expect(textOf(answer)).toContain(`${rest.length + 1} tool output`);
    },
  );

  it('belongs to connections', async () => {
    const answer = await fetch(`${stand.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'sim', input: 'x', append: true }),
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'append' } });
  });
});

describe('response.inject', () => {
  it('answers calls while the response still runs, which then goes on', async () => {
    client.send({
      type: 'response.create',
      model: 'sim',
      tools: TOOLS,
      input: 'x [sim parallel=2 stall=200]',
    });
    await client.until(() => calls().length > 0);
    const response_id = client.events[0]?.response?.id;
    client.send({ type: 'response.inject', response_id, input: calls().slice(0, 1).map(outputOf) });
    await client.until(
      () => all('response.inject.created').length + all('response.inject.failed').length === 1,
    );
    if (all('response.inject.created').length === 1) {
      await client.until(() => calls().length === 2);
      client.send({ type: 'response.inject', response_id, input: calls().slice(1).map(outputOf) });
      await client.until(() => all('response.completed').length === 1);
      expect(textOf(client.events)).toContain('2 tool outputs');
    } else {
      // The response was faster than its client.
      expect(all('response.inject.failed')[0]).toMatchObject({
        error: { code: 'response_already_completed' },
      });
    }
  });

  it('is refused for what does not run, with its input', async () => {
    const id = terminalOf(await client.create({ input: 'x', tools: TOOLS })).response.id;
    const input = calls().map(outputOf);
    client.send({ type: 'response.inject', response_id: id, input });
    client.send({ type: 'response.inject', response_id: 'resp_x', input });
    await client.until(() => all('response.inject.failed').length === 2);
    expect(all('response.inject.failed')).toMatchObject([
      { response_id: id, input, error: { code: 'response_already_completed' } },
      { response_id: 'resp_x', input, error: { code: 'response_not_found' } },
    ]);
  });
});
