import { describe, expect, it } from '@jest/globals';
import type { Item } from './items.js';
import { callMadeBy, withAnsweredCalls } from './tool-pairs.js';

const cut = (call_id: string, type = 'function_call') =>
  ({ type, call_id, name: 'f', arguments: '{', input: 'x', status: 'incomplete' }) as Item;
const output = (call_id: string, type = 'function_call_output') => ({ type, call_id, output: 'x' }) as Item;
/** Ids of the calls that count as made, in order. */
const made = (...items: Item[]) => withAnsweredCalls(items).flatMap((item) => callMadeBy(item)?.id ?? []);

describe('a call that was cut short', () => {
  it('counts as made where its output stands behind it', () => {
    expect(made(cut('a'), cut('b'), output('b'))).toEqual(['b']);
    expect(made(cut('a', 'custom_tool_call'), output('a', 'custom_tool_call_output'))).toEqual(['a']);
    expect(made(cut('a', 'shell_call'), output('a', 'shell_call_output'))).toEqual(['a']);
  });

  it('does not where there is none, one of another tool, or one before it', () => {
    expect(made(cut('a'))).toEqual([]);
    expect(made(cut('a'), output('a', 'custom_tool_call_output'))).toEqual([]);
    expect(made(output('a'), cut('a'))).toEqual([]);
  });

  it('does not where the output is that of a later call with its id', () => {
    const again = { ...cut('a'), status: 'completed' } as Item;
    const items = [cut('a'), again, output('a')];
    expect(withAnsweredCalls(items)).toEqual(items);
  });

  it('leaves items as they are where no call was cut', () => {
    const items = [{ type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' } as Item, output('a')];
    expect(withAnsweredCalls(items)).toBe(items);
  });
});
