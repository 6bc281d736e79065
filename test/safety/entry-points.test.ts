import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SocketClient, terminalOf, type WireEvent, type WireItem } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { hasMarker, MARKER } from './marker.js';

/** Every way by which a text can reach a model: each ends in a refusal, and the engine never sees the text. */
let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
beforeEach(async () => {
  client = await SocketClient.connect(stand.url);
  stand.prompts.length = 0;
});
afterEach(() => {
  client.close();
  expect(stand.takePrompts().filter(hasMarker)).toEqual([]);
});

const all = (type: string) => client.events.filter((event) => event.type === type);
const user = (content: unknown) => ({ type: 'message', role: 'user', content });
const text = (value: string) => ({ type: 'input_text', text: value });
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

async function post(
  path: string,
  body: unknown,
): Promise<{ status: number; raw: string; body: Record<string, unknown> }> {
  const answer = await fetch(`${stand.url}/v1${path}`, { method: 'POST', body: JSON.stringify(body) });
  const raw = await answer.text();
  return {
    status: answer.status,
    raw,
    body: raw.startsWith('{') ? (JSON.parse(raw) as Record<string, unknown>) : {},
  };
}

/** A request in which the marker stands in one place. */
const PLACES: Record<string, Record<string, unknown>> = {
  'a user message': { input: `say ${MARKER} please` },
  'a part of a message': { input: [user([text('say'), text(MARKER)])] },
  'two parts of a message': { input: [user([text(MARKER.slice(0, 9)), text(MARKER.slice(9))])] },
  'two items': { input: [user(MARKER.slice(0, 9)), user(MARKER.slice(9))] },
  'a developer message': { input: [{ role: 'developer', content: MARKER }, user('hi')] },
  'an answer that the client brings': { input: [{ role: 'assistant', content: MARKER }, user('hi')] },
  'a refusal that the client brings': {
    input: [{ role: 'assistant', content: [{ type: 'refusal', refusal: MARKER }] }, user('hi')],
  },
  'reasoning that the client brings': {
    input: [
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: MARKER }] },
      user('hi'),
    ],
  },
  'the arguments of a call': {
    input: [
      { type: 'function_call', call_id: 'c', name: 'look', arguments: JSON.stringify({ at: MARKER }) },
      { type: 'function_call_output', call_id: 'c', output: 'nothing' },
    ],
  },
  'the arguments of a call, in escapes': {
    input: [
      {
        type: 'function_call',
        call_id: 'c',
        name: 'look',
        arguments: `{"at":"${MARKER.replaceAll('T', '\\u0054')}"}`,
      },
      { type: 'function_call_output', call_id: 'c', output: 'nothing' },
    ],
  },
  'items of one letter each': { input: [...MARKER].map((letter) => user(letter)) },
  'base64 in lines': { input: Buffer.from(MARKER).toString('base64').replaceAll(/.{12}/g, '$&\n') },
  'letters with accents, of another width or alphabet, and what cannot be seen': {
    input: [...MARKER]
      .map((letter, at) => letter + ['', '\u0301', '\u200b', '\u202c', '\ufe0f'][at % 5])
      .join(''),
  },
  'tag characters': {
    input: `hi${[...MARKER].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')}`,
  },
  'the input of a custom call': {
    input: [
      { type: 'custom_tool_call', call_id: 'c', name: 'look', input: MARKER },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'nothing' },
    ],
  },
  'the output of a call': {
    input: [
      { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: MARKER },
    ],
  },
  'the output of a call, in parts': {
    input: [
      { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [text(MARKER.slice(0, 5)), text(MARKER.slice(5))],
      },
    ],
  },
  'a user message behind a call and its output': {
    input: [
      { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'nothing' },
      user(MARKER),
    ],
  },
  'the output of a shell': {
    input: [
      { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
      {
        type: 'shell_call_output',
        call_id: 'c',
        output: [{ stdout: MARKER, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
  },
  instructions: { input: 'hi', instructions: `Always say ${MARKER}.` },
  'instructions and the first message together': { input: MARKER.slice(8), instructions: MARKER.slice(0, 8) },
  'the description of a tool': { input: 'hi', tools: [{ ...TOOLS[0], description: MARKER }] },
  'the name of a tool': { input: 'hi', tools: [{ ...TOOLS[0], name: MARKER }] },
  'the parameters of a tool': {
    input: 'hi',
    tools: [
      {
        ...TOOLS[0],
        parameters: { type: 'object', properties: { at: { type: 'string', description: MARKER } } },
      },
    ],
  },
  'a value that a parameter may have': {
    input: 'hi',
    tools: [{ ...TOOLS[0], parameters: { type: 'object', properties: { at: { enum: ['a', MARKER] } } } }],
  },
  'the name of a parameter': {
    input: 'hi',
    tools: [{ ...TOOLS[0], parameters: { type: 'object', properties: { [MARKER]: { type: 'string' } } } }],
  },
  'tools that join as an item': {
    input: [
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [{ type: 'custom', name: 'note', description: MARKER }],
      },
      user('hi'),
    ],
  },
  'the format of the answer': {
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object', description: MARKER } } },
  },
};

describe.each(Object.entries(PLACES))('%s', (_name, request) => {
  it('is refused over HTTP, as JSON and as a stream, and in the background', async () => {
    const before = await stand.generated();
    for (const extra of [{}, { stream: true }, { background: true }, { background: true, stream: true }]) {
      const { status, body } = await post('/responses', { model: 'sim', ...request, ...extra });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { code: 'content_blocked', type: 'invalid_request_error' } });
    }
    expect(await stand.generated()).toBe(before);
  });

  it('is refused over WebSocket, as a turn and as a warm-up, and the connection goes on', async () => {
    const parent = terminalOf(await client.create({ input: 'hello', store: false }));
    // What stands before the items is not next to those of a later turn.
    const isHead = 'instructions' in request && request['input'] !== 'hi';
    const behind = isHead ? {} : { previous_response_id: parent.response.id };
    for (const extra of [{}, { generate: false }, { ...behind, store: false }]) {
      const [error] = await client.create({ ...request, ...extra });
      expect(error).toMatchObject({ type: 'error', status: 400, error: { code: 'content_blocked' } });
    }
    const next = await client.create({
      input: 'go on',
      previous_response_id: parent.response.id,
      store: false,
    });
    expect(terminalOf(next).response.status).toBe('completed');
  });
});

describe('a text file', () => {
  it('is refused like every file, so that what it says reaches no model', async () => {
    const file_data = `data:text/plain;base64,${Buffer.from(MARKER).toString('base64')}`;
    const input = [user([{ type: 'input_file', filename: 'a.txt', file_data }])];
    const { status } = await post('/responses', { model: 'sim', input });
    expect(status).toBe(400);
  });
});

describe('the marker is refused', () => {
  const refused = (events: readonly WireEvent[]) =>
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'content_blocked' } });

  it('behind a warm-up', async () => {
    const warm = terminalOf(await client.create({ input: 'hello', generate: false }));
    refused(await client.create({ input: MARKER, previous_response_id: warm.response.id }));
  });

  it('on another lane of the chain, split over both', async () => {
    const [a, b] = [MARKER.slice(0, 12), MARKER.slice(12)];
    const parent = terminalOf(await client.create({ input: a, store: false, stream_id: 'one' }));
    const fork = { previous_response_id: parent.response.id, store: false, stream_id: 'two' };
    refused(await client.create({ ...fork, input: b }));
    expect(terminalOf(await client.create({ ...fork, input: 'fine' })).response.status).toBe('completed');
  });

  it('over HTTP behind a stored response, and the response stays usable', async () => {
    const { body } = await post('/responses', { model: 'sim', input: 'hello' });
    const behind = { model: 'sim', previous_response_id: body['id'] };
    expect((await post('/responses', { ...behind, input: MARKER })).status).toBe(400);
    expect((await post('/responses', { ...behind, input: 'fine' })).status).toBe(200);
  });

  it('in an item that was stored without a turn and is referred to', async () => {
    const conversation = (await post('/conversations', {})).body;
    const path = `/conversations/${String(conversation['id'])}/items`;
    const added = (await post(path, { items: [user(MARKER)] })).body as { data: { id: string }[] };
    const reference = { type: 'item_reference', id: added.data[0]?.id };
    const { status, body } = await post('/responses', { model: 'sim', input: [reference, user('hi')] });
    expect([status, body]).toMatchObject([400, { error: { code: 'content_blocked' } }]);
    refused(await client.create({ input: [reference, user('hi')] }));
  });

  it('in an item of a conversation, by every turn of it', async () => {
    const { id } = (await post('/conversations', { items: [user(MARKER)] })).body;
    const { status, body } = await post('/responses', { model: 'sim', conversation: id, input: 'hi' });
    expect([status, body]).toMatchObject([
      400,
      { error: { code: 'content_blocked', param: 'conversation' } },
    ]);
  });

  it('by compaction, in all three ways', async () => {
    const { status, body } = await post('/responses/compact', { model: 'sim', input: [user(MARKER)] });
    expect([status, body]).toMatchObject([400, { error: { code: 'content_blocked' } }]);
    refused(await client.create({ input: [user(MARKER), { type: 'compaction_trigger' }] }));
    const context_management = [{ type: 'compaction', compact_threshold: 1000 }];
    refused(await client.create({ input: [user(`${'word '.repeat(2000)}${MARKER}`)], context_management }));
  });

  it('in what a response is steered with: the successor is not made', async () => {
    client.send({
      type: 'response.create',
      model: 'sim',
      input: 'one [sim reason=0 tokens=3000]',
      store: false,
    });
    await client.until(() => all('response.output_text.delta').length > 0);
    const id = all('response.created')[0]?.response?.id;
    client.send({ type: 'response.steer', previous_response_id: id, input: MARKER });
    await client.until(() => all('response.steer.failed').length > 0);
    const next = await client.create({ input: 'go on', previous_response_id: id, store: false });
    expect(terminalOf(next).response.status).toBe('completed');
  });

  it('in steering input that waits for the output of a call, once: the parent stays usable', async () => {
    client.send({
      type: 'response.create',
      model: 'sim',
      input: 'x [sim reason=2000 calls=1]',
      reasoning: { effort: 'high' },
      tools: TOOLS,
      store: false,
    });
    await client.until(() => all('response.reasoning_text.delta').length > 0);
    const id = all('response.created')[0]?.response?.id;
    client.send({ type: 'response.steer', previous_response_id: id, input: MARKER });
    await client.until(() => all('response.completed').length + all('response.incomplete').length > 0);
    if (all('response.steer.pending').length === 0) return;
    const call = all('response.completed')[0]?.response?.output.find(({ type }) => type === 'function_call');
    const output = { type: 'function_call_output', call_id: call?.call_id, output: 'found' };
    const answer = { input: [output], previous_response_id: id, store: false, tools: TOOLS };
    refused(await client.create(answer));
    expect(all('response.steer.failed')).toHaveLength(1);
    expect(terminalOf(await client.create(answer)).response.status).toBe('completed');
  });

  it.each(['response.append', 'response.inject'])(
    'in what is given to a response that runs (%s)',
    async (type) => {
      const open = type === 'response.append' ? { append: true } : {};
      client.send({
        type: 'response.create',
        model: 'sim',
        ...open,
        input: 'x [sim calls=1 tokens=3000]',
        tools: TOOLS,
      });
      await client.until(() =>
        all('response.output_item.done').some(({ item }) => item?.type === 'function_call'),
      );
      const call = all('response.output_item.done').find(({ item }) => item?.type === 'function_call')
        ?.item as WireItem;
      const response_id = all('response.created')[0]?.response?.id;
      const output = { type: 'function_call_output', call_id: call.call_id, output: MARKER };
      client.send({ type, response_id, input: [output] });
      await client.until(() => client.events.some(({ type: each }) => each.endsWith('.failed')));
      const last = client.events.at(-1);
      if (last?.type === 'response.failed') {
        expect(last.response).toMatchObject({
          error: { code: 'content_blocked' },
          turnpike: { safety: { state: 'blocked' } },
        });
      } else {
        // It had ended before what was given arrived.
        expect(all('response.inject.failed')).toHaveLength(1);
      }
    },
  );
});
