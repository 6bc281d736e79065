import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keysOf } from './platform.js';
import type { WireItem } from './socket-client.js';
import { Stand } from './stand.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start(keysOf('alice', 'bob'));
});
afterAll(async () => {
  await stand.stop();
});

async function post(key: string, input: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${stand.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'sim', store: false, input }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

describe('encrypted_content', () => {
  it('comes with every reasoning item and is taken back from its own tenant only', async () => {
    const { body } = await post('alice', 'think about it');
    const reasoning = (body['output'] as WireItem[]).find(({ type }) => type === 'reasoning');
    const sealed = String(reasoning?.['encrypted_content']);
    expect(sealed).toMatch(/^tp1\./);
    const again = (encrypted_content: string) => [
      { type: 'reasoning', summary: [], encrypted_content },
      { role: 'user', content: 'go on' },
    ];
    expect((await post('alice', again(sealed))).status).toBe(200);
    const refused = {
      status: 400,
      body: { error: { code: 'invalid_encrypted_content', param: 'input[0].encrypted_content' } },
    };
    expect(await post('bob', again(sealed))).toMatchObject(refused);
    expect(await post('alice', again(`${sealed.slice(0, -4)}AAAA`))).toMatchObject(refused);
    expect((await post('alice', again('gAAAAA-from-another-server'))).status).toBe(200);
  });
});
