import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryConversationStore, type ConversationStore } from '@turnpike/conversation';
import { mintId } from '@turnpike/protocol';
import { SqlConversationStore, type StoreSchema } from '@turnpike/storage';
import type { TurnItem } from '@turnpike/turns';
import { sql, type Kysely } from 'kysely';
import { KINDS, TestDatabases } from './databases.js';

const NEVER = { id: 'conv_never', createdAt: 1, metadata: {} };

function said(text: string): TurnItem {
  return {
    item: {
      type: 'message',
      id: mintId('message'),
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_text', text }],
    },
  };
}

function sampled(text: string, ids: readonly number[]): TurnItem {
  return { ...said(text), sampled: { format: 'harmony', ids: Int32Array.from(ids) } };
}

const idOf = ({ item }: TurnItem) => item.id ?? '';
const idsOf = (items: readonly TurnItem[]) => items.map(idOf);

describe.each([...KINDS, 'memory'] as const)('conversations in %s', (kind) => {
  let databases: TestDatabases | undefined;
  let db: Kysely<StoreSchema> | undefined;
  let store: ConversationStore;
  beforeAll(async () => {
    if (kind !== 'memory') databases = await TestDatabases.start(kind);
    db = await databases?.connect();
    store = db === undefined ? new MemoryConversationStore(10_000_000) : new SqlConversationStore(db);
  });
  afterAll(() => databases?.stop());

  let id: string;
  beforeEach(() => {
    id = mintId('conversation');
  });

  async function made(...items: TurnItem[]): Promise<string> {
    await store.create('alice', { id, createdAt: 1_700_000_000_123, metadata: { topic: 'a' } }, items);
    return id;
  }

  const opened = async (from: 'head' | 'start' = 'head') => {
    const state = await store.open('alice', id, from);
    if (state === undefined) throw new Error('the conversation is not there');
    return state;
  };

  it('are found with what they were made with, until they are deleted', async () => {
    const items = [said('a'), sampled('b', [1, -1, 2_000_000_000])];
    await made(...items);
    expect(await store.find('alice', id)).toEqual({
      id,
      createdAt: 1_700_000_000_123,
      metadata: { topic: 'a' },
    });
    expect(await opened()).toMatchObject({ head: undefined, items });
    expect(await store.setMetadata('alice', id, { topic: 'b', more: '"\u0000' })).toBe(true);
    expect((await store.find('alice', id))?.metadata).toEqual({ topic: 'b', more: '"\u0000' });
    expect(await store.delete('alice', id)).toBe(true);
    expect(await store.find('alice', id)).toBeUndefined();
    expect(await store.open('alice', id, 'start')).toBeUndefined();
    expect(await store.findItem('alice', id, idOf(items[0] ?? said('')))).toBeUndefined();
    expect(await store.delete('alice', id)).toBe(false);
  });

  it('take the items of a turn, and know its response as their head', async () => {
    await made(said('a'));
    const { version } = await opened();
    const written = sampled('c', [7, 8]);
    await store.append('alice', id, [said('b'), written], { response: 'resp_1', version });
    expect(await opened()).toMatchObject({ head: 'resp_1', items: [] });
    const whole = await opened('start');
    expect(whole).toMatchObject({ head: undefined });
    expect(whole.items).toHaveLength(3);
    expect(whole.items[2]).toEqual(written);
    const later = said('d');
    await store.append('alice', id, [later]);
    expect(await opened()).toMatchObject({ head: 'resp_1', items: [later] });
  });

  it('know a warm-up that brought nothing', async () => {
    await made();
    await store.append('alice', id, [], { response: 'resp_1', version: (await opened()).version });
    expect(await opened()).toMatchObject({ head: 'resp_1', items: [] });
    const first = said('a');
    await store.append('alice', id, [first], { response: 'resp_2', version: (await opened()).version });
    expect(await opened()).toMatchObject({ head: 'resp_2', items: [] });
    expect((await opened('start')).items).toEqual([first]);
  });

  it('keep the head when an item behind it is taken out, and not when it is one that it holds', async () => {
    await made();
    const [inside, behind] = [said('a'), said('b')];
    await store.append('alice', id, [inside], { response: 'resp_1', version: (await opened()).version });
    await store.append('alice', id, [behind]);
    expect(await store.removeItem('alice', id, idOf(behind))).toBe(true);
    expect(await opened()).toMatchObject({ head: 'resp_1', items: [] });
    expect(await store.removeItem('alice', id, idOf(inside))).toBe(true);
    expect(await opened()).toMatchObject({ head: undefined, items: [] });
    expect(await store.removeItem('alice', id, idOf(inside))).toBe(false);
  });

  it('are unknown to another tenant in every way, and unharmed by it', async () => {
    const item = said('a');
    await made(item);
    const before = await opened();
    for (const [tenant, name] of [
      ['bob', id],
      ['alice', NEVER.id],
      ['alice', 'conv_\u0000'],
      ['alice', ''],
    ] as const) {
      expect(await store.find(tenant, name)).toBeUndefined();
      expect(await store.open(tenant, name, 'head')).toBeUndefined();
      expect(await store.open(tenant, name, 'start')).toBeUndefined();
      expect(await store.setMetadata(tenant, name, {})).toBe(false);
      expect(await store.append(tenant, name, [said('x')])).toBe(false);
      expect(await store.append(tenant, name, [said('x')], { response: 'r', version: 0 })).toBe(false);
      expect(await store.findItem(tenant, name, idOf(item))).toBeUndefined();
      expect(await store.removeItem(tenant, name, idOf(item))).toBe(false);
      expect(await store.delete(tenant, name)).toBe(false);
      const page = await store.listItems(tenant, name, { limit: 5, order: 'asc', after: undefined });
      expect(page).toEqual({ items: [], hasMore: false });
      expect(
        await store.listItems(tenant, name, { limit: 5, order: 'asc', after: idOf(item) }),
      ).toBeUndefined();
    }
    expect(await store.findItems('bob', [idOf(item)])).toEqual(new Map());
    expect(await opened()).toEqual(before);
    expect(await store.find('alice', id)).toMatchObject({ metadata: { topic: 'a' } });
  });

  it('show no item of one as an item of another', async () => {
    const item = said('a');
    await made(item);
    const other = mintId('conversation');
    await store.create('alice', { ...NEVER, id: other }, [said('b')]);
    expect(await store.findItem('alice', other, idOf(item))).toBeUndefined();
    expect(await store.removeItem('alice', other, idOf(item))).toBe(false);
    expect(
      await store.listItems('alice', other, { limit: 5, order: 'asc', after: idOf(item) }),
    ).toBeUndefined();
    expect(await store.findItem('alice', id, idOf(item))).toEqual(item.item);
  });

  it('find items by their ids wherever they are', async () => {
    const items = [said('a'), said('b')];
    await made(...items);
    const [first] = idsOf(items);
    const found = await store.findItems('alice', [first ?? '', 'msg_unknown', 'msg_\u0000']);
    expect([...found]).toEqual([[first, items[0]?.item]]);
    await store.delete('alice', id);
    expect(await store.findItems('alice', idsOf(items))).toEqual(new Map());
  });

  it('are listed page by page in both orders, also where items were taken out', async () => {
    const items = Array.from({ length: 9 }, (_, index) => said(`${index}`));
    await made(...items);
    for (const index of [0, 4]) await store.removeItem('alice', id, idsOf(items)[index] ?? '');
    const left = idsOf(items.filter((_, index) => index !== 0 && index !== 4));
    for (const order of ['asc', 'desc'] as const) {
      for (const limit of [1, 3, 7, 100]) {
        const listed: string[] = [];
        let after: string | undefined;
        for (let more = true; more;) {
          const page = await store.listItems('alice', id, { limit, order, after });
          if (page === undefined) throw new Error('the cursor is unknown');
          expect(page.items.length).toBeLessThanOrEqual(limit);
          listed.push(...page.items.map((item) => item.id ?? ''));
          after = listed.at(-1);
          more = page.hasMore;
        }
        expect(listed).toEqual(order === 'asc' ? left : left.toReversed());
      }
    }
    const gone = { limit: 5, order: 'asc' as const, after: idsOf(items)[4] };
    expect(await store.listItems('alice', id, gone)).toBeUndefined();
  });

  it('lose and double nothing when turns end at once, and then have no head', async () => {
    await made();
    const { version } = await opened();
    const turns = Array.from({ length: 8 }, (_, index) => [said(`${index} in`), said(`${index} out`)]);
    await Promise.all(
      turns.map(async (items, index) =>
        store.append('alice', id, items, { response: `resp_${index}`, version }),
      ),
    );
    const { head, items } = await opened();
    expect(head).toBeUndefined();
    const found = idsOf(items);
    expect(found.toSorted()).toEqual(idsOf(turns.flat()).toSorted());
    // The items of one turn stay together.
    for (const turn of turns) {
      const [input = '', output = ''] = idsOf(turn);
      expect(found.indexOf(output)).toBe(found.indexOf(input) + 1);
    }
  });

  it('stay deleted when a turn ends while they go', async () => {
    await made(...Array.from({ length: 30 }, (_, index) => said(`${index}`)));
    const { version } = await opened();
    const late = said('late');
    const [, appended] = await Promise.all([
      store.delete('alice', id),
      store.append('alice', id, [late], { response: 'resp_1', version }),
    ]);
    expect(typeof appended).toBe('boolean');
    expect(await store.append('alice', id, [said('later')], { response: 'resp_2', version })).toBe(false);
    expect(await store.findItems('alice', [idOf(late)])).toEqual(new Map());
    if (db !== undefined) {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from conversation_items where conversation_id = ${id}`.execute(db);
      expect(Number(rows[0]?.n)).toBe(0);
    }
  });

  it('never have a head that holds anything else than what comes before its items', () =>
    fc.assert(
      fc.asyncProperty(fc.array(MOVE, { maxLength: 25 }), async (moves) => {
        id = mintId('conversation');
        await made();
        const model: string[] = [];
        /** What each response holds: all that its turn saw, and what it added. */
        const held = new Map<string, string[]>();
        const running: { seen: string[]; version: number }[] = [];
        for (const [step, { kind: move, pick }] of moves.entries()) {
          const items = Array.from({ length: pick % 3 }, () => said(`${step}`));
          const chosen = model[pick % Math.max(1, model.length)];
          if (move === 'begin') {
            const { version, head, items: since } = await opened();
            running.push({ version, seen: [...(held.get(head ?? '') ?? []), ...idsOf(since)] });
          } else if (move === 'end' && running.length > 0) {
            const [turn] = running.splice(pick % running.length, 1);
            if (turn === undefined) continue;
            const response = `resp_${step}`;
            held.set(response, [...turn.seen, ...idsOf(items)]);
            await store.append('alice', id, items, { response, version: turn.version });
            model.push(...idsOf(items));
          } else if (move === 'add') {
            await store.append('alice', id, items);
            model.push(...idsOf(items));
          } else if (move === 'remove' && chosen !== undefined) {
            expect(await store.removeItem('alice', id, chosen)).toBe(true);
            model.splice(model.indexOf(chosen), 1);
          }
          const { head, items: since } = await opened();
          expect([...(head === undefined ? [] : (held.get(head) ?? [])), ...idsOf(since)]).toEqual(model);
          expect(idsOf((await opened('start')).items)).toEqual(model);
        }
        await store.delete('alice', id);
      }),
      { numRuns: kind === 'memory' ? 300 : 25 },
    ));
});

const MOVE = fc.record({
  kind: fc.constantFrom('begin', 'end', 'end', 'add', 'remove'),
  pick: fc.nat({ max: 30 }),
});

describe.each(KINDS)('the rows of conversations in %s', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  afterAll(() => databases.stop());

  const rows = async () => {
    const { rows: found } = await sql<{ items: number; conversations: number }>`
      select (select count(*) from conversation_items) as items,
        (select count(*) from conversations) as conversations`.execute(db);
    return { items: Number(found[0]?.items), conversations: Number(found[0]?.conversations) };
  };

  it('are one for each item, and a turn takes as many statements and reads as much at any length', async () => {
    let statements = 0;
    let read = 0;
    const counted = db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1;
        return node;
      },
      transformResult: ({ result }) => {
        read += result.rows.length;
        return Promise.resolve(result);
      },
    });
    const store = new SqlConversationStore(counted);
    await store.create('alice', { ...NEVER, id: 'conv_1' }, []);
    const costs: unknown[] = [];
    for (let turn = 0; turn < 50; turn++) {
      statements = 0;
      read = 0;
      const state = await store.open('alice', 'conv_1', 'head');
      const appended = { response: `resp_${turn}`, version: state?.version ?? 0 };
      await store.append('alice', 'conv_1', [said('in'), sampled('out', [1])], appended);
      await store.listItems('alice', 'conv_1', { limit: 1, order: 'desc', after: undefined });
      costs.push({ statements, read });
    }
    expect(new Set(costs.map((cost) => JSON.stringify(cost))).size).toBe(1);
    expect(costs[0]).toEqual({ statements: 4, read: 1 + 1 + 2 });
    expect(await rows()).toEqual({ items: 100, conversations: 1 });
    expect((await store.open('alice', 'conv_1', 'head'))?.head).toBe('resp_49');
  });

  it('go with it, however many they are', async () => {
    const store = new SqlConversationStore(db);
    const before = await rows();
    const many = Array.from({ length: 1_234 }, () => said('a'));
    await store.create('alice', { ...NEVER, id: 'conv_2' }, many);
    await store.removeItem('alice', 'conv_2', idOf(many[600] ?? said('')));
    expect(await rows()).toEqual({
      items: before.items + 1_233,
      conversations: before.conversations + 1,
    });
    expect(await store.delete('alice', 'conv_2')).toBe(true);
    expect(await rows()).toEqual(before);
  });

  it('go with the next sweep when a process ended in the middle of a deletion', async () => {
    const store = new SqlConversationStore(db);
    const before = await rows();
    for (let each = 0; each < 25; each++)
      await store.create('alice', { ...NEVER, id: `conv_a${each}` }, [said('a')]);
    await sql`update conversations set deleted_at = 1 where id like 'conv_a%'`.execute(db);
    expect(await store.find('alice', 'conv_a1')).toBeUndefined();
    await store.sweep();
    expect(await rows()).toEqual(before);
  });
});

describe('the conversations of a memory', () => {
  it('stay within their budget: the least recently used go first, and one that is too large alone', () => {
    const store = new MemoryConversationStore(6_000);
    const make = (id: string) => store.create('alice', { ...NEVER, id }, [said('x'.repeat(500))]);
    for (const id of ['a', 'b', 'c']) make(id);
    store.find('alice', 'a');
    make('d');
    expect(['a', 'b', 'c', 'd'].filter((id) => store.find('alice', id) !== undefined)).toEqual([
      'a',
      'c',
      'd',
    ]);
    store.append('alice', 'd', [said('x'.repeat(10_000))]);
    expect(['a', 'c', 'd'].filter((id) => store.find('alice', id) !== undefined)).toEqual(['a', 'c']);
  });
});
