import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { textOf } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { idOf, terminal } from './stream-rules.js';
import { overBoth } from './transports.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
const here = () => stand;

async function call(method: string, path: string, body?: unknown) {
  const answer = await fetch(`${stand.url}/v1/conversations${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const conversation = async () => String((await call('POST', '', { metadata: { a: 'b' } })).body['id']);

overBoth('25. a conversation that exists still excludes previous_response_id', here, async (client) => {
  const id = await conversation();
  const parent = idOf(await client.create({ input: 'x' }));
  for (const form of [id, { id }]) {
    const events = await client.create({ input: 'x', conversation: form, previous_response_id: parent });
    expect(events).toMatchObject([
      { status: 400, error: { type: 'invalid_request_error', param: 'conversation' } },
    ]);
  }
});

overBoth('25. alone it is continued, turn by turn', here, async (client) => {
  const id = await conversation();
  for (const [turn, form] of [id, { id }, id].entries()) {
    const events = await client.create({ input: `turn ${turn}`, conversation: form });
    expect(textOf(events)).toContain(`message ${turn + 1}`);
    expect(terminal(events).response).toMatchObject({ conversation: { id }, previous_response_id: null });
  }
  const { body } = await call('GET', `/${id}/items?limit=100&order=asc`);
  expect((body['data'] as { role: string }[]).filter(({ role }) => role === 'user')).toHaveLength(3);
});

overBoth('25. one that does not exist is a 404, and no response begins', here, async (client) => {
  const events = await client.create({ input: 'x', conversation: 'conv_unknown' });
  expect(events).toMatchObject([{ status: 404, error: { param: 'conversation' } }]);
});

it('25. it is made, read, changed and deleted', async () => {
  const id = await conversation();
  expect(await call('GET', `/${id}`)).toMatchObject({
    status: 200,
    body: { id, object: 'conversation', metadata: { a: 'b' }, created_at: expect.any(Number) },
  });
  expect(await call('POST', `/${id}`, { metadata: { a: 'c' } })).toMatchObject({
    status: 200,
    body: { metadata: { a: 'c' } },
  });
  expect(await call('DELETE', `/${id}`)).toMatchObject({
    status: 200,
    body: { id, object: 'conversation.deleted', deleted: true },
  });
  expect((await call('GET', `/${id}`)).status).toBe(404);
});
