import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from './platform.js';
import { Stand } from './stand.js';

let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start(keysOf('alice', 'bob'));
});
beforeEach(() => {
  stand.prompts.length = 0;
});
afterAll(() => stand.stop());

const BODY = { model: 'sim', input: 'hello there' };

function post(
  key: string,
  body: object = BODY,
  { who = 'alice', signal }: { who?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${stand.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${who}`, 'idempotency-key': key },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
}

describe('E14: Idempotency-Key', () => {
  it.each([
    ['JSON', BODY],
    ['events', { ...BODY, stream: true }],
    ['JSON of store:false', { ...BODY, store: false }],
    ['events of a background response', { ...BODY, stream: true, background: true }],
  ])('has one generation, whose answer is given again: %s', async (name, body) => {
    const first = await post(`again ${name}`.replaceAll(' ', '-'), body);
    const text = await first.text();
    const second = await post(`again ${name}`.replaceAll(' ', '-'), body);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(await second.text()).toBe(text);
    expect(stand.prompts).toHaveLength(1);
  });

  it('waits for a request with the same key that is being answered', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => post('parallel')));
    const ids = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { id: string }).id),
    );
    expect(new Set(ids).size).toBe(1);
    expect(stand.prompts).toHaveLength(1);
  });

  it('finishes what its client left, for when it asks again', async () => {
    const left = new AbortController();
    const body = { ...BODY, input: '[sim tokens=300 stall=20:300]', stream: true };
    const first = await post('left', body, { signal: left.signal });
    await first.body?.getReader().read();
    left.abort();
    expect(await (await post('left', body)).text()).toContain('event: response.completed');
    expect(stand.prompts).toHaveLength(1);
  });

  it('is refused with another body, and belongs to its tenant', async () => {
    await (await post('mine')).text();
    const other = await post('mine', { ...BODY, input: 'something else' });
    expect([other.status, await other.json()]).toMatchObject([
      422,
      { error: { code: 'idempotency_key_reused', param: 'Idempotency-Key' } },
    ]);
    const theirs = await post('mine', { ...BODY, input: 'something else' }, { who: 'bob' });
    expect(theirs.status).toBe(200);
    await theirs.text();
    expect(stand.prompts).toHaveLength(2);
  });

  it('is free again when nothing came of the request', async () => {
    const failing = { ...BODY, input: 'x [sim status=503]' };
    for (let time = 0; time < 2; time++) expect((await post('failed', failing)).status).toBe(503);
    expect(stand.prompts).toHaveLength(2);
  });

  it('gives no response again that was deleted', async () => {
    const { id } = (await (await post('deleted')).json()) as { id: string };
    await fetch(`${stand.url}/v1/responses/${id}`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer alice' },
    });
    expect(((await (await post('deleted')).json()) as { id: string }).id).not.toBe(id);
  });

  it('has to be visible ASCII', async () => {
    const answer = await post('two words');
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { param: 'Idempotency-Key' } },
    ]);
  });
});
