import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keysOf } from './platform.js';
import { SocketClient, terminalOf, textOf, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start(keysOf('alice', 'bob'));
});
afterAll(async () => {
  await stand.stop();
});

async function post(key: string, body: Record<string, unknown>) {
  const answer = await fetch(`${stand.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'sim', ...body }),
  });
  return { status: answer.status, body: (await answer.json()) as { output: WireItem[]; error?: unknown } };
}

const referTo = ({ id }: WireItem) => ({ type: 'item_reference', id });

describe('item_reference', () => {
  it('stands for a stored item, over HTTP and WebSocket', async () => {
    const first = await post('alice', { input: 'remember marmalade' });
    const input = [
      { role: 'user', content: 'remember marmalade' },
      ...first.body.output.map(referTo),
      { role: 'user', content: 'go on' },
    ];
    const { body } = await post('alice', { input });
    const text = body.output.flatMap(({ content }) => content ?? []).map((part) => part.text);
    expect(text.join('')).toContain('You said: "go on". (message 2');
    const client = await SocketClient.connect(stand.url, '/v1/responses', {
      authorization: 'Bearer alice',
    });
    const events = await client.create({ input });
    expect(textOf(events)).toContain('message 2');
    expect(terminalOf(events).response.status).toBe('completed');
    client.close();
  });

  it('to nothing, to what was not stored, and to what is another tenant’s are the same 404', async () => {
    const stored = await post('alice', { input: 'a' });
    const passing = await post('alice', { input: 'a', store: false });
    for (const [key, id] of [
      ['alice', 'msg_unknown'],
      ['alice', passing.body.output[0]?.id],
      ['bob', stored.body.output[0]?.id],
    ] as const) {
      const answer = await post(key, {
        input: [
          { type: 'item_reference', id },
          { role: 'user', content: 'x' },
        ],
      });
      expect(answer).toMatchObject({
        status: 404,
        body: {
          error: { code: 'item_not_found', param: 'input[0].id', message: `Item with id '${id}' not found.` },
        },
      });
    }
  });
});
