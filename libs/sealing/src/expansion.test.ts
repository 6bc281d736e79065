import { describe, expect, it } from '@jest/globals';
import { parseInput } from '@turnpike/protocol';
import { packExpansion, unpackExpansion } from './expansion.js';
import { packSampledIds, unpackSampledIds } from './sampled-ids.js';

const items = parseInput([
  { role: 'developer', content: 'Rules.' },
  { role: 'user', content: '안녕 👩‍👩‍👧 "quoted"' },
  { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a": 1}' },
  { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
]);

describe('an expansion as bytes', () => {
  it.each([true, false])('comes back as it was (replaces: %s)', (replaces) => {
    expect(unpackExpansion(packExpansion({ items, replaces }))).toEqual({ items, replaces });
  });

  it('is never taken for sampled ids, nor they for it', () => {
    expect(unpackSampledIds(packExpansion({ items, replaces: true }))).toBeUndefined();
    expect(unpackExpansion(packSampledIds({ format: 'harmony', ids: Int32Array.of(1) }))).toBeUndefined();
  });

  it.each<[string, string]>([
    ['nothing', ''],
    ['no JSON', 'x'],
    ['null', 'null'],
    ['no items', '{"replaces":true,"items":5}'],
    ['an item that is none', '{"replaces":true,"items":[{"type":"nope"}]}'],
  ])('is undefined for %s', (_, text) => {
    expect(unpackExpansion(Buffer.concat([Uint8Array.of(0), Buffer.from(text)]))).toBeUndefined();
  });
});
