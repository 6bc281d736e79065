import { describe, expect, it } from '@jest/globals';
import {
  createNode,
  MemoryConversationStore,
  MemoryResponseStore,
  ReplayIndex,
  type ResponseNode,
} from '@turnpike/conversation';
import { newResponse, parseRequest } from '@turnpike/protocol';
import { Sealer } from '@turnpike/sealing';
import { beginningOf } from './beginning.js';

/** A response to `text`, behind `parent`. */
function made(text: string, store: boolean, parent?: ResponseNode): ResponseNode {
  const request = parseRequest({ model: 'm', input: text, store }, 'http');
  return createNode({
    id: `resp_${text}`,
    tenant: 't',
    parent,
    input: request.input.map((item) => ({ item })),
    output: [],
    response: newResponse(`resp_${text}`, request, 0),
    artifacts: new Map(),
    ownBytes: 1,
  });
}

/** What a request that brings `texts` whole is folded behind. */
async function baseOf(known: ResponseNode[], texts: string[], store: boolean): Promise<string | undefined> {
  const replays = new ReplayIndex(100);
  for (const node of known) replays.add(node, node.parent, node.input);
  const input = texts.map((content) => ({ role: 'user', content }));
  const parts = {
    store: new MemoryResponseStore(100),
    conversations: new MemoryConversationStore(100),
    sealer: new Sealer([Buffer.alloc(32, 1)]),
    replays,
  };
  const request = parseRequest({ model: 'm', input, store }, 'http');
  return (await beginningOf({ request, tenant: 't' }, parts)).base?.id;
}

describe('a conversation that is sent whole', () => {
  it('is folded behind what is known of it', async () => {
    expect(await baseOf([made('a', true)], ['a', 'b'], true)).toBe('resp_a');
    expect(await baseOf([made('a', false)], ['a', 'b'], false)).toBe('resp_a');
    expect(await baseOf([made('a', true)], ['a', 'b'], false)).toBe('resp_a');
  });

  it('and is to be stored takes nothing from a chain in which something was not to be', async () => {
    const hidden = made('a', false);
    expect(await baseOf([hidden], ['a', 'b'], true)).toBeUndefined();
    expect(await baseOf([made('b', true, hidden)], ['a', 'b', 'c'], true)).toBeUndefined();
    expect(await baseOf([made('b', true, made('a', true))], ['a', 'b', 'c'], true)).toBe('resp_b');
  });
});

describe('a conversation of which the rest is sent behind a warm-up', () => {
  /** What is folded of a request behind `named` that brings these items. */
  function beginningBehind(named: ResponseNode, known: ResponseNode[], request: object) {
    const store = new MemoryResponseStore(100);
    store.save(named);
    const replays = new ReplayIndex(100);
    for (const node of [...known, named]) replays.add(node, node.parent, node.input);
    const parsed = parseRequest({ model: 'm', previous_response_id: named.id, ...request }, 'websocket');
    const sealer = new Sealer([Buffer.alloc(32, 1)]);
    const parts = { store, conversations: new MemoryConversationStore(0), sealer, replays };
    return beginningOf({ request: parsed, tenant: 't' }, parts);
  }
  const user = (content: string) => ({ role: 'user', content });
  const answer = { role: 'assistant', content: 'b' };
  const warm = made('a', false);
  const first = made('a', false);
  const last = createNode({
    ...made('b', false, first),
    input: parseRequest({ model: 'm', input: [answer] }, 'http').input.map((item) => ({ item })),
  });

  it('is folded behind what is known of it', async () => {
    const input = [answer, user('c')];
    const { base, parent, items, known } = await beginningBehind(warm, [first, last], {
      input,
      store: false,
    });
    expect(base).toBe(last);
    expect(parent).toBe(last);
    expect(items).toMatchObject([{ item: { role: 'user', content: [{ text: 'c' }] } }]);
    expect(known).toBe(1);
  });

  it('is folded behind the warm-up where it is not known, or to be stored', async () => {
    const input = [answer, user('c')];
    expect((await beginningBehind(warm, [first], { input, store: false })).base).toBe(warm);
    const other = [{ role: 'assistant', content: 'x' }, user('c')];
    expect((await beginningBehind(warm, [first, last], { input: other, store: false })).base).toBe(warm);
    expect((await beginningBehind(warm, [first, last], { input, store: true })).base).toBe(warm);
  });

  it('is not looked for when nothing but new input is sent', async () => {
    const known = made('c', false, first);
    const input = [user('c'), user('d')];
    expect((await beginningBehind(warm, [first, known], { input, store: false })).base).toBe(warm);
  });
});
