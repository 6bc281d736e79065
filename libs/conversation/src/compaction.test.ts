import { describe, expect, it } from '@jest/globals';
import { parseInput, type Item, type Tool } from '@turnpike/protocol';
import { compactedItems, KEPT_CHARACTERS, rulesOf, summaryItem, usersOf } from './compaction.js';

const user = (content: unknown) => ({ role: 'user', content });
const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' });
const output = (call_id: string, text: string) => ({ type: 'function_call_output', call_id, output: text });
const entries = (items: readonly object[]) => parseInput(items).map((item) => ({ item }));

function compacted(history: readonly object[], items: readonly object[], addedTools: readonly Tool[] = []) {
  return compactedItems({
    history: entries(history),
    items: entries(items),
    summary: 'S',
    addedTools,
    characters: KEPT_CHARACTERS,
  });
}

/** Items in a few letters. */
function sketch(items: readonly Item[]): string[] {
  return items.map((item) => {
    if (item.type !== 'message')
      return 'call_id' in item ? `${item.type} ${String(item.call_id)}` : item.type;
    return `${item.role} ${item.content.map((part) => ('text' in part ? part.text : part.type)).join('')}`;
  });
}

describe('what a conversation goes on from', () => {
  it('is rules, users, the summary, and the items of the request with the calls they answer', () => {
    const history = [
      { role: 'developer', content: 'Rules.' },
      user('one'),
      call('a'),
      output('a', 'x'),
      { role: 'assistant', content: 'said' },
      user('two'),
      call('b'),
      call('c'),
    ];
    const tools: Tool[] = [{ type: 'function', name: 'late' }];
    const items = compacted(history, [output('b', 'y'), output('c', 'z')], tools);
    expect(sketch(items)).toEqual([
      'developer Rules.',
      'additional_tools',
      'user one',
      'user two',
      expect.stringMatching(/^assistant Notes on the earlier conversation[^]*S$/),
      'function_call b',
      'function_call c',
      'function_call_output b',
      'function_call_output c',
    ]);
  });

  it('names rules once, wherever they stand', () => {
    const rule = { role: 'system', content: 'R' };
    const update = { type: 'configuration_update', reasoning: { effort: 'high' } };
    expect(sketch(compacted([user('a')], [rule, update, user('b')]))).toEqual([
      'system R',
      'configuration_update',
      'user a',
      expect.stringMatching(/^assistant/),
      'user b',
    ]);
  });

  it('has a note in place of each image', () => {
    const image = { type: 'input_image', image_url: 'data:image/gif;base64,R0lGOD==' };
    const result = { type: 'function_call_output', call_id: 'a', output: [image] };
    const items = compacted([user([{ type: 'input_text', text: 'see ' }, image]), call('a')], [result]);
    expect(JSON.stringify(items)).not.toContain('input_image');
    expect(sketch(items)[0]).toBe('user see [an image]');
  });

  it('shows tools that had to be searched for', () => {
    const tools = [
      { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', defer_loading: true }] },
      { type: 'function', name: 'g', defer_loading: true },
    ];
    expect(JSON.stringify(rulesOf([], tools))).not.toContain('"defer_loading":true');
  });
});

describe('the latest user messages', () => {
  it('are kept as far as they are short together', () => {
    const half = 'x'.repeat(KEPT_CHARACTERS / 2);
    const items = parseInput([
      user('first'),
      user(half),
      { role: 'assistant', content: 'a' },
      user('y'),
      user('z'),
    ]);
    expect(sketch(usersOf(items, KEPT_CHARACTERS)).map((text) => text.slice(0, 10))).toEqual([
      'user first',
      'user xxxxx',
      'user y',
      'user z',
    ]);
    const more = parseInput([user(half), user(half), user('z')]);
    expect(usersOf(more, KEPT_CHARACTERS)).toHaveLength(2);
    expect(usersOf(parseInput([user('x'.repeat(KEPT_CHARACTERS))]), KEPT_CHARACTERS)).toEqual([]);
  });
});

it('a summary speaks as a note of the model, never as developer or user', () => {
  expect(summaryItem('S')).toMatchObject({ role: 'assistant', phase: 'commentary' });
});
