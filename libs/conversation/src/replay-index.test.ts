import { describe, expect, it } from '@jest/globals';
import { parseItem, type Item } from '@turnpike/protocol';
import { createNode, historyOf, type ResponseNode } from './node.js';
import { ReplayIndex } from './replay-index.js';
import { node } from './testing/nodes.js';

const user = (text: string): Item => parseItem({ role: 'user', content: text }, 'input[0]');
const answer = (text: string): Item => parseItem({ role: 'assistant', content: text }, 'input[0]');
const reasoning = (text: string): Item =>
  parseItem({ type: 'reasoning', id: 'rs_1', content: [{ type: 'reasoning_text', text }] }, 'input[0]');

/** A response that took `input` in and made `output`. */
function made(id: string, input: Item[], output: Item[], parent?: ResponseNode): ResponseNode {
  const items = (list: Item[]) => list.map((item) => ({ item }));
  return createNode({ ...node(id, parent), parent, input: items(input), output: items(output) });
}

/** Makes a response known behind its parent. */
function add(index: ReplayIndex, known: ResponseNode): void {
  index.add(known, known.parent, [...known.input, ...known.output]);
}

const given = (...items: Item[]) => items.map((item) => ({ item }));
const sent = (last: ResponseNode, ...more: Item[]) => [...historyOf(last), ...given(...more)];

describe('ReplayIndex', () => {
  const first = made('a', [user('one')], [reasoning('hm'), answer('1')]);
  const second = made('b', [user('two')], [answer('2')], first);

  it('finds the longest known beginning', () => {
    const index = new ReplayIndex(100);
    add(index, first);
    expect(index.find('tenant', sent(second, user('three')))).toEqual({ node: first, items: 3 });
    add(index, second);
    expect(index.find('tenant', sent(second, user('three')))).toEqual({ node: second, items: 5 });
    expect(index.find('tenant', sent(first, user('else')))).toEqual({ node: first, items: 3 });
  });

  it('knows a response that holds its whole conversation by what came behind a known one', () => {
    const index = new ReplayIndex(100);
    add(index, first);
    const whole = made('w', [...sent(first).map(({ item }) => item), user('two')], [answer('2')]);
    index.add(whole, first, given(user('two'), answer('2')));
    expect(index.find('tenant', sent(whole, user('three')))).toEqual({ node: whole, items: 5 });
  });

  it('finds what goes on behind a response that is named', () => {
    const index = new ReplayIndex(100);
    const warm = made('w', [user('one')], []);
    for (const known of [first, second, warm]) add(index, known);
    const rest = sent(second, user('three')).slice(1);
    expect(index.find('tenant', rest, warm)).toEqual({ node: second, items: 4 });
    expect(index.find('tenant', given(reasoning('else'), answer('1'), user('two')), warm)).toBeUndefined();
    expect(index.find('tenant', rest, made('unknown', [user('one')], []))).toBeUndefined();
  });

  it('leaves at least one item to be new', () => {
    const index = new ReplayIndex(100);
    add(index, first);
    expect(index.find('tenant', sent(first))).toBeUndefined();
    expect(index.find('tenant', [])).toBeUndefined();
  });

  it('knows an item again without its ids, status and annotations, and reasoning without its text', () => {
    const index = new ReplayIndex(100);
    add(index, first);
    const bare: Item[] = [
      parseItem({ role: 'user', content: [{ type: 'input_text', text: 'one' }] }, 'input[0]'),
      parseItem({ type: 'reasoning', summary: [], encrypted_content: 'sealed' }, 'input[1]'),
      parseItem(
        { type: 'message', id: 'msg_9', role: 'assistant', status: 'completed', content: '1' },
        'input[2]',
      ),
      user('two'),
    ];
    expect(index.find('tenant', given(...bare))?.node).toBe(first);
  });

  it('compares reasoning that comes back sealed by its ids', () => {
    const index = new ReplayIndex(100);
    const ids = (...each: number[]) => ({ format: 'harmony', ids: Int32Array.from(each) });
    const thought = { item: reasoning('hm'), sampled: ids(1, 2, 3) };
    const root = createNode({ ...first, input: given(user('one')), output: [thought] });
    add(index, root);
    const sealed = { type: 'reasoning' as const, summary: [] };
    const find = (sampled: ReturnType<typeof ids>) =>
      index.find('tenant', [...given(user('one')), { item: sealed, sampled }, ...given(user('two'))]);
    expect(find(ids(1, 2, 3))?.node).toBe(root);
    expect(find(ids(1, 2, 4))).toBeUndefined();
    expect(find(ids(1, 2))).toBeUndefined();
  });

  it('never takes what was changed, or what another tenant said', () => {
    const index = new ReplayIndex(100);
    add(index, first);
    const changes: Item[][] = [
      [user('ONE'), reasoning('hm'), answer('1'), user('two')],
      [user('one'), reasoning('other'), answer('1'), user('two')],
      [user('one'), answer('1'), user('two')],
      [answer('one'), reasoning('hm'), answer('1'), user('two')],
    ];
    for (const items of changes) expect(index.find('tenant', given(...items))).toBeUndefined();
    expect(index.find('another', sent(first, user('two')))).toBeUndefined();
  });

  const search = (fields: object = {}) =>
    parseItem({ type: 'tool_search_call', call_id: 'c', arguments: { a: 1, b: [2] }, ...fields }, 'input[0]');
  const found = (name: string) =>
    parseItem({ type: 'tool_search_output', call_id: 'c', tools: [{ type: 'function', name }] }, 'input[0]');
  const shell = (fields: object = {}) =>
    parseItem({ type: 'shell_call', call_id: 's', action: { commands: ['ls'] }, ...fields }, 'input[0]');
  const approval = (id: string) =>
    parseItem({ type: 'mcp_approval_request', id, server_label: 's', name: 'n', arguments: '' }, 'input[0]');
  const update = (effort: string) =>
    parseItem({ type: 'configuration_update', reasoning: { effort } }, 'input[0]');

  it.each<[string, Item, Item]>([
    ['a search with other ids and order', search({ id: 'tsc_1' }), search({ arguments: { b: [2], a: 1 } })],
    ['a shell call with nulls', shell({ id: 'sh_1', environment: null }), shell()],
    ['an update with an id', { ...update('low'), id: 'cfg_1' }, update('low')],
  ])('knows %s again', (_, known, sent) => {
    const index = new ReplayIndex(100);
    add(index, made('k', [user('one'), known], []));
    expect(index.find('tenant', given(user('one'), sent, user('two')))?.items).toBe(2);
  });

  it.each<[string, Item, Item]>([
    ['other arguments of a search', search(), search({ arguments: { a: 1, b: [3] } })],
    ['a search cut short', search(), search({ status: 'incomplete' })],
    ['a search by the server', search(), search({ execution: 'server' })],
    ['other tools that were found', found('f'), found('g')],
    ['another command', shell(), shell({ action: { commands: ['rm'] } })],
    ['another request for approval', approval('a'), approval('b')],
    ['another setting', update('low'), update('high')],
  ])('never takes %s', (_, known, sent) => {
    const index = new ReplayIndex(100);
    add(index, made('k', [user('one'), known], []));
    expect(index.find('tenant', given(user('one'), sent, user('two')))).toBeUndefined();
  });

  it('tells apart texts that only look alike when joined', () => {
    const index = new ReplayIndex(100);
    add(index, made('c', [user('a'), user('b')], []));
    expect(index.find('tenant', given(user('ab'), user('c')))).toBeUndefined();
    expect(index.find('tenant', given(user('a'), user('b'), user('c')))?.items).toBe(2);
  });

  it('stays within its budget, least recently used first, and is off at 0', () => {
    const index = new ReplayIndex(2);
    for (const name of ['x', 'y', 'z']) add(index, made(name, [user(name)], []));
    expect([index.size, index.retainedBytes]).toEqual([2, 2]);
    expect(index.find('tenant', given(user('x'), user('more')))).toBeUndefined();
    expect(index.find('tenant', given(user('z'), user('more')))?.items).toBe(1);
    const off = new ReplayIndex(0);
    add(off, first);
    expect(off.size).toBe(0);
  });
});
