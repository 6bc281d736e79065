import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startPlatform, type App } from './platform.js';
import { SocketClient, terminalOf, textOf, type WireEvent } from './socket-client.js';

let app: App;
let client: SocketClient;

beforeAll(async () => {
  // Slow enough that there is something to steer.
  app = await startPlatform({ sim: ['--tps', '1500', '--ttft-ms', '0', '--prefill-us-per-token', '0'] });
});
afterAll(() => app.stop());
beforeEach(async () => {
  client = await SocketClient.connect(app.url);
});
afterEach(() => client.close());

const all = (type: string) => client.events.filter((event) => event.type === type);
const first = (type: string): WireEvent | undefined => all(type)[0];

/** Starts a response and returns its id once it has begun to speak. */
async function begin(body: Record<string, unknown>): Promise<string> {
  client.send({ type: 'response.create', model: 'sim', ...body });
  await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
  return first('response.created')?.response?.id ?? '';
}

const user = (text: string) => [{ type: 'message', role: 'user', content: text }];

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

describe('response.steer', () => {
  it('ends the response at the next message, and a successor with its settings answers', async () => {
    const id = await begin({
      input: 'one [sim reason=1000]',
      reasoning: { effort: 'medium' },
      instructions: 'Be kind.',
      metadata: { a: 'b' },
      stream_id: 'main',
      store: false,
    });
    client.send({ type: 'response.steer', previous_response_id: id, input: user('two') });
    client.send({ type: 'response.steer', previous_response_id: id, input: 'three' });
    await client.until(() => all('response.completed').length > 0);
    const accepted = all('response.steer.accepted');
    expect(accepted.map(({ steer }) => steer)).toEqual([
      { id: expect.stringMatching(/^steer_/), previous_response_id: id },
      { id: expect.stringMatching(/^steer_/), previous_response_id: id },
    ]);
    const stopped = first('response.incomplete')?.response;
    expect(stopped).toMatchObject({ id, incomplete_details: { reason: 'steered' } });
    expect(stopped?.output.map(({ type }) => type)).toEqual(['reasoning']);
    expect(client.events.every(({ stream_id }) => stream_id === 'main')).toBe(true);
    const successor = terminalOf(client.events).response;
    expect(successor).toMatchObject({
      status: 'completed',
      previous_response_id: id,
      instructions: 'Be kind.',
      metadata: { a: 'b' },
      store: false,
    });
    expect(textOf(client.events)).toContain('You said: "three". (message 3');
    // Of each response the numbers begin at 0 and have no hole.
    const split = client.events.findIndex(({ type }) => type === 'response.incomplete') + 1;
    for (const events of [client.events.slice(0, split), client.events.slice(split)]) {
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    }
  });

  it('waits for an answer that has begun', async () => {
    const id = await begin({ input: 'one [sim reason=0 tokens=600]' });
    client.send({ type: 'response.steer', previous_response_id: id, input: 'two' });
    await client.until(() => all('response.completed').length === 2);
    expect(all('response.completed')[0]?.response?.id).toBe(id);
    expect(textOf(client.events)).toContain('You said: "two". (message 2');
  });

  it('runs before what is queued on its lane', async () => {
    const id = await begin({ input: 'one [sim reason=0 tokens=600]' });
    client.send({ type: 'response.create', model: 'sim', input: 'queued' });
    client.send({ type: 'response.steer', previous_response_id: id, input: 'two' });
    await client.until(() => all('response.completed').length === 3);
    expect(all('response.completed').map((event) => textOf([event]))).toEqual([
      expect.stringContaining('one'),
      expect.stringContaining('two'),
      expect.stringContaining('queued'),
    ]);
  });

  it('is heard with the outputs of calls that the response has made', async () => {
    const id = await begin({ input: 'one [sim parallel=12 reason=0]', tools: TOOLS });
    const send = (input: string) => client.send({ type: 'response.steer', previous_response_id: id, input });
    await client.until(() =>
      all('response.output_item.done').some(({ item }) => item?.type === 'function_call'),
    );
    send('two');
    await client.until(
      () => first('response.steer.pending') !== undefined || all('response.steer.failed').length > 0,
    );
    const calls = terminalOf(all('response.completed')).response.output.filter(({ call_id }) => call_id);
    expect(first('response.steer.pending')).toMatchObject({
      reason: 'waiting_for_required_input',
      required_input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, name: 'look' })),
      steer: { previous_response_id: id },
    });
    // A request that fails does not take the input with it.
    const failed = await client.create({
      previous_response_id: id,
      input: [{ type: 'function_call_output', call_id: 'call_wrong', output: 'x' }],
      tools: TOOLS,
    });
    expect(failed.at(-1)?.error?.code).toBe('tool_output_mismatch');
    const input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'found' }));
    const answer = await client.create({ previous_response_id: id, input });
    expect(textOf(answer)).toContain('"two"');
    expect(textOf(answer)).toContain('message 2');
    const next = await client.create({ previous_response_id: id, input });
    expect(textOf(next)).not.toContain('"two"');
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown response', { previous_response_id: 'resp_x', input: 'y' }, 'response_not_found'],
    ['no response', { input: 'y' }, 'response_not_found'],
    ['no input', {}, 'invalid_input'],
    ['an empty list', { input: [] }, 'invalid_input'],
    ['another role', { input: [{ role: 'developer', content: 'x' }] }, 'invalid_input'],
    [
      'a tool output',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      'invalid_input',
    ],
    ['a lane', { input: 'x', stream_id: 'main' }, 'invalid_input'],
  ])('is refused with %s, and gives the input back', async (name, frame, code) => {
    const id = await begin({ input: 'one [sim stall=900 tokens=20]' });
    const own = 'previous_response_id' in frame || name === 'no response' ? {} : { previous_response_id: id };
    client.send({ type: 'response.steer', ...own, ...frame });
    await client.until(() => first('response.steer.failed') !== undefined);
    expect(first('response.steer.failed')).toMatchObject({
      error: { type: 'invalid_request_error', code, message: expect.any(String) },
      steer: { input: frame['input'] ?? null },
    });
    await client.until(() => first('response.completed') !== undefined);
  });

  it('is kept by a request that fails, and refused with an image, which no response could load in time', async () => {
    const id = await begin({ input: 'one [sim parallel=12 reason=0]', tools: TOOLS });
    const url = 'data:image/png;base64,AAAA';
    const image = [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }];
    client.send({ type: 'response.steer', previous_response_id: id, input: image });
    client.send({ type: 'response.steer', previous_response_id: id, input: 'two' });
    await client.until(() => first('response.steer.pending') !== undefined);
    expect(all('response.steer.failed')).toMatchObject([{ error: { code: 'invalid_input' } }]);
    const calls = terminalOf(all('response.completed')).response.output.filter(({ call_id }) => call_id);
    const input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'found' }));
    const failing = { role: 'developer', content: '' };
    const failed = await client.create({
      previous_response_id: id,
      input: [...input, failing],
      tools: TOOLS,
      max_output_tokens: 0,
    });
    expect(failed.at(-1)?.error).toBeDefined();
    expect(textOf(await client.create({ previous_response_id: id, input }))).toContain('"two"');
  });

  it('is refused when too much waits', async () => {
    const id = await begin({ input: 'one [sim stall=1500 tokens=20]' });
    const send = (input: string) => client.send({ type: 'response.steer', previous_response_id: id, input });
    send('x'.repeat(2 * 1024 * 1024));
    for (let count = 0; count < 17; count++) send(`${count}`);
    await client.until(() => all('response.steer.failed').length === 2);
    for (const { error } of all('response.steer.failed')) expect(error?.code).toBe('too_many_pending_steers');
    expect(all('response.steer.accepted')).toHaveLength(16);
    await client.until(() => all('response.completed').length + all('response.incomplete').length === 2);
  });

  it('is refused after the end', async () => {
    const id = terminalOf(await client.create({ input: 'one' })).response.id;
    client.send({ type: 'response.steer', previous_response_id: id, input: 'x' });
    await client.until(() => first('response.steer.failed') !== undefined);
    expect(first('response.steer.failed')).toMatchObject({ error: { code: 'response_already_completed' } });
  });
});
