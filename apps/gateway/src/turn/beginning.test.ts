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
