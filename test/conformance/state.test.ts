import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keysOf } from '../e2e/platform.js';
import { SocketClient, textOf } from '../e2e/socket-client.js';
import { expectGone, expectThere, notFound } from './continuations.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { connect, overBoth, postJson, type Address } from './transports.js';

const WEATHER = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } };
const NOTE = { type: 'custom', name: 'note' };
const TOOLS = [WEATHER, NOTE];

let stand: Stand;
const as = (key: string): Address => ({ url: stand.url, headers: { authorization: `Bearer ${key}` } });
const alice = () => as('alice');

beforeAll(async () => {
  // OpenAI's own behaviour: nothing outlives its connection but what is stored.
  stand = await Stand.start([...keysOf('alice', 'bob'), 'limits: { resumeMs: 0 }']);
});
afterAll(() => stand.stop());

/** One request with this key. */
async function call(method: string, path: string, key = 'alice') {
  const answer = await fetch(stand.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text) as Record<string, unknown> };
}

const socket = () => connect('websocket', alice());

describe('a chain', () => {
  it('57. of store: false turns keeps what its first one said, to the last', async () => {
    const client = await socket();
    stand.takePrompts();
    let events = await client.create({ input: 'The word is marmalade.', store: false });
    for (const input of ['two', 'three', 'four']) {
      events = await client.create({ previous_response_id: idOf(events), input, store: false });
    }
    expect(textOf(events)).toContain('message 4');
    const prompts = stand.takePrompts();
    expect(prompts).toHaveLength(4);
    for (const prompt of prompts) expect(prompt).toContain('The word is marmalade.');
    client.close();
  });

  it('57. and its calls and outputs', async () => {
    const client = await socket();
    const first = await client.create({ input: 'x', tools: TOOLS, store: false });
    const answer = {
      type: 'function_call_output',
      call_id: terminal(first).response.output.at(-1)?.call_id,
      output: 'four degrees',
    };
    const second = await client.create({
      previous_response_id: idOf(first),
      input: [answer],
      tools: TOOLS,
      store: false,
    });
    stand.takePrompts();
    await client.create({
      previous_response_id: idOf(second),
      input: 'and tomorrow? [sim calls=0]',
      tools: TOOLS,
      store: false,
    });
    const [prompt = ''] = stand.takePrompts();
    expect(prompt).toMatch(/to=functions\.get_weather[^]*four degrees[^]*and tomorrow\?/);
    client.close();
  });

  it.each(['close', 'terminate'] as const)(
    '58. of store: false is gone with its connection (%s): exactly previous_response_not_found, and a fresh start works',
    async (end) => {
      const first = await SocketClient.connect(stand.url, '/v1/responses', alice().headers);
      const id = idOf(await first.create({ input: 'x', store: false }));
      first.socket[end]();
      await first.untilClosed();
      const client = await socket();
      for (const store of [false, true]) await expectGone(client, id, { store });
      expect(textOf(await client.create({ input: 'from the start', store: false }))).toContain(
        'from the start',
      );
      client.close();
    },
  );

  it('58. and unknown to a connection beside it, to HTTP, and to a warm-up', async () => {
    const [client, other] = [await socket(), await socket()];
    const id = idOf(await client.create({ input: 'x', store: false }));
    await expectGone(other, id);
    await expectGone(other, id, { generate: false });
    await expectGone(await connect('http', alice()), id);
    // It was not touched by any of that.
    await expectThere(client, id, { store: false });
    client.close();
    other.close();
  });

  it('59. of store: true goes on on any connection, over both transports, turn by turn', async () => {
    let id = idOf(await (await connect('http', alice())).create({ input: 'root' }));
    for (const [turn, transport] of (
      ['websocket', 'http', 'websocket', 'websocket', 'http'] as const
    ).entries()) {
      const client = await connect(transport, alice());
      const events = await expectThere(client, id);
      expect(textOf(events)).toContain(`message ${turn + 2}`);
      id = idOf(events);
      client.close();
    }
  });

  overBoth('59. by the time its terminal event is read', alice, async (client) => {
    const other = await connect(client.transport === 'http' ? 'websocket' : 'http', alice());
    let id = idOf(await client.create({ input: 'root' }));
    for (let turn = 0; turn < 20; turn++) {
      await expectThere(other, id, { generate: false });
      id = idOf(await client.create({ previous_response_id: id, input: 'x', generate: turn % 2 === 0 }));
    }
    other.close();
  });
});

describe('retrieval', () => {
  overBoth('60. gives back what is stored, and nothing else', alice, async (client) => {
    for (const request of [
      { input: 'x' },
      { input: 'x', store: null },
      { input: 'x', generate: false },
      { input: 'x', max_output_tokens: 3 },
    ]) {
      const { response } = terminal(await client.create(request));
      expect(await call('GET', `/v1/responses/${response.id}`)).toEqual({ status: 200, body: response });
    }
    const hidden = await client.create({ input: 'x', store: false });
    for (const id of [idOf(hidden), 'resp_unknown', `resp_${'0'.repeat(48)}`, '%00', '..%2Fmodels']) {
      const { status, body } = await call('GET', `/v1/responses/${id}`);
      expect([id, status, body]).toMatchObject([
        id,
        404,
        { error: { type: 'invalid_request_error', code: 'response_not_found' } },
      ]);
      expect((await call('GET', `/v1/responses/${id}/input_items`)).status).toBe(404);
      expect((await call('DELETE', `/v1/responses/${id}`)).status).toBe(404);
    }
  });

  overBoth('61. an unknown id is an error and no response', alice, async (client) => {
    for (const id of [
      'resp_gone',
      'resp_',
      'x',
      `resp_${'a'.repeat(48)}`,
      'msg_1',
      'conv_1',
      '__proto__',
      'constructor',
    ]) {
      for (const more of [{}, { generate: false }, { store: false }]) await expectGone(client, id, more);
    }
    // An id that could be a text is not repeated.
    const [error] = await client.create({ previous_response_id: 'two words', input: 'x' });
    expect(error).toMatchObject({
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
    expect(error?.error?.message).not.toContain('two words');
  });

  overBoth('61. what is no id is a 400 on it', alice, async (client) => {
    for (const previous_response_id of ['', 5, {}, ['resp_1'], true]) {
      const events = await client.create({ previous_response_id, input: 'x' });
      expect(events).toMatchObject([
        { status: 400, error: { type: 'invalid_request_error', param: 'previous_response_id' } },
      ]);
    }
  });
});

describe('tenants', () => {
  overBoth(
    '66. what one made is unknown to the other, stored or not, on every path',
    () => as('bob'),
    async (bob) => {
      const mine = await socket();
      for (const store of [true, false]) {
        const { response } = terminal(await mine.create({ input: 'secret', store }));
        await expectGone(bob, response.id);
        const [item] = response.output;
        const reference = await bob.create({
          input: [
            { type: 'item_reference', id: item?.id },
            { role: 'user', content: 'x' },
          ],
        });
        expect(reference).toMatchObject([{ status: 404, error: { code: 'item_not_found' } }]);
        for (const [method, path] of [
          ['GET', ''],
          ['GET', '/input_items'],
          ['DELETE', ''],
        ] as const) {
          const foreign = await call(method, `/v1/responses/${response.id}${path}`, 'bob');
          const unknown = await call(method, `/v1/responses/resp_unknown${path}`, 'bob');
          expect(foreign.status).toBe(404);
          expect(JSON.stringify(foreign.body).replaceAll(response.id, 'resp_unknown')).toBe(
            JSON.stringify(unknown.body),
          );
        }
        // Neither did any harm to it.
        await expectThere(mine, response.id);
      }
      mine.close();
    },
  );

  it('66. a conversation that is sent whole is recognised for who had it, and for nobody else', async () => {
    const ask = {
      input: 'x [sim call-form=channel]',
      tools: [WEATHER],
      reasoning: { effort: 'low' },
      store: false,
    };
    const mine = await connect('http', alice());
    const call = terminal(await mine.create(ask)).response.output.at(-1);
    const input = [
      { role: 'user', content: ask.input },
      call,
      { type: 'function_call_output', call_id: call?.call_id, output: 'x' },
    ];
    stand.takePrompts();
    for (const key of ['alice', 'bob']) await (await connect('http', as(key))).create({ ...ask, input });
    const [own, foreign] = stand.takePrompts();
    // What the model sampled can be told from what its text gives back: the recipient stood behind the channel.
    expect(own).toContain('<|channel|>commentary to=functions.get_weather');
    expect(foreign).toContain(' to=functions.get_weather<|channel|>commentary');
  });

  it('66. the chain of a lost connection passes to nobody else either', async () => {
    const { url } = await stand.gateway([...keysOf('alice', 'bob'), 'store: { kind: memory }']);
    const headers = (key: string) => ({ authorization: `Bearer ${key}` });
    const lost = await SocketClient.connect(url, '/v1/responses', headers('alice'));
    const id = idOf(await lost.create({ input: 'x', store: false }));
    lost.socket.terminate();
    await lost.untilClosed();
    for (const key of ['bob', 'alice']) {
      const client = await connect('websocket', { url, headers: headers(key) });
      await (key === 'bob' ? expectGone : expectThere)(client, id, { store: false });
      client.close();
    }
  });
});

describe('branches', () => {
  it.each([true, false])('67. of one parent do not see each other, with store: %s', async (store) => {
    const client = await socket();
    const root = idOf(await client.create({ input: 'root', store }));
    const sides = ['left', 'right', 'middle'];
    stand.takePrompts();
    const children = [];
    for (const side of sides)
      children.push(await expectThere(client, root, { input: `${side} side`, store }));
    for (const [index, child] of children.entries()) {
      await expectThere(client, idOf(child), { input: `${sides[index]} again`, store });
    }
    const prompts = stand.takePrompts();
    expect(prompts).toHaveLength(6);
    for (const [index, prompt] of prompts.entries()) {
      const own = sides[index % 3] ?? '';
      expect(prompt).toContain('root');
      expect(sides.filter((side) => prompt.includes(`${side} side`))).toEqual([own]);
    }
    client.close();
  });

  overBoth('67. that run at the same time', alice, async (client) => {
    const root = idOf(await client.create({ input: 'root' }));
    const others = await Promise.all([0, 1, 2, 3].map(() => connect(client.transport, alice())));
    const answers = await Promise.all(
      others.map((other, index) => expectThere(other, root, { input: `branch ${index} [sim stall=50]` })),
    );
    answers.forEach((events, index) =>
      expect(textOf(events)).toContain(`You said: "branch ${index}". (message 2`),
    );
    for (const other of others) other.close();
  });
});

describe('deletion', () => {
  it('68. of a stored response makes a later continuation find nothing', async () => {
    const maker = await socket();
    const root = idOf(await maker.create({ input: 'root' }));
    const child = idOf(await expectThere(maker, root));
    maker.close();
    expect(await call('DELETE', `/v1/responses/${root}`)).toEqual({
      status: 200,
      body: { id: root, object: 'response', deleted: true },
    });
    for (const transport of ['websocket', 'http'] as const) {
      const client = await connect(transport, alice());
      await expectGone(client, root);
      await expectGone(client, root, { generate: false });
      // What came after it does not depend on it.
      expect(textOf(await expectThere(client, child))).toContain('message 3');
      client.close();
    }
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/input_items'],
    ] as const) {
      expect((await call(method, `/v1/responses/${root}${path}`)).status).toBe(404);
    }
  });
});

describe('memory', () => {
  it('69. of a connection is bounded: what it gave up is not found, what it has is right', async () => {
    const { url } = await stand.gateway([
      'limits: { connectionCacheBytes: 200000, resumeMs: 0 }',
      'store: { kind: memory }',
    ]);
    const client = await connect('websocket', { url });
    const ids: string[] = [];
    for (let turn = 0; turn < 12; turn++) {
      const input = `number ${turn} ${'and so on '.repeat(1_500)}`;
      ids.push(idOf(await client.create({ input, store: false, generate: false })));
    }
    const found: boolean[] = [];
    for (const [turn, id] of ids.entries()) {
      const events = await client.create({
        previous_response_id: id,
        input: 'x',
        store: false,
        stream_id: 'reader',
      });
      if (events[0]?.type === 'error') expect(events[0]).toMatchObject(notFound(id));
      else expect(stand.takePrompts().at(-1)).toContain(`number ${turn} and so on`);
      found.push(events[0]?.type !== 'error');
    }
    expect(found).toContain(false);
    // The latest of the lane is the last to go.
    expect(found.lastIndexOf(false)).toBe(found.indexOf(true) - 1);
    expect(textOf(await client.create({ input: 'fresh', store: false }))).toContain('fresh');
    client.close();
  });

  it('69. and so is what its conversation grows to, which stays whole', async () => {
    const { url } = await stand.gateway([
      'limits: { connectionCacheBytes: 200000, resumeMs: 0 }',
      'store: { kind: memory }',
    ]);
    const client = await connect('websocket', { url });
    let parent: string | undefined;
    for (let turn = 0; turn < 12; turn++) {
      const input = `turn ${turn} ${'and so on '.repeat(1_500)}`;
      const events = await client.create({
        previous_response_id: parent,
        input,
        store: false,
        max_output_tokens: 5,
      });
      if (events[0]?.type === 'error') {
        expect(events[0]).toMatchObject(notFound(parent ?? ''));
        break;
      }
      const prompt = stand.takePrompts().at(-1) ?? '';
      for (let earlier = 0; earlier <= turn; earlier++) expect(prompt).toContain(`turn ${earlier} and so on`);
      parent = idOf(events);
    }
    client.close();
  });
});

it('60. the stored response is the one that was answered without a stream, too', async () => {
  const { text } = await postJson(stand.url, { input: 'x' }, alice().headers);
  const response = JSON.parse(text) as { id: string };
  expect((await call('GET', `/v1/responses/${response.id}`)).body).toEqual(response);
});
