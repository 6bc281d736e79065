import { describe, expect, it } from '@jest/globals';
import type { Item } from '@turnpike/protocol';
import { chat } from './chat.js';
import { contentField, callEntry, reasoningField, wholeMessage } from './message.js';
import { reasoningFieldIds } from './reasoning-ids.js';

const format = chat();
const ITEM: Item = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] };
const IDS = reasoningFieldIds('reasoning', 'h"m');
const FIELD = ',"reasoning":"h\\"m"';

const textOf = (ids: Int32Array | undefined) =>
  Buffer.concat([...(ids ?? [])].map((id) => format.tokenizer.bytes(id))).toString();

describe('reasoning in a field of another name', () => {
  it('opens a message behind one that is whole', () => {
    const { place } = wholeMessage(undefined, ['x']);
    const taken = format.takeOver(ITEM, IDS, place);
    expect(taken?.ids).toBeUndefined();
    expect(textOf(IDS)).toBe(`{"role":"assistant"${FIELD}`);
    expect(contentField(taken?.place, 'a').pieces).toEqual([',"content":"a"']);
  });

  it('goes on in a message that has none yet, but not among its calls', () => {
    const said = contentField(undefined, 'a').place;
    expect(textOf(format.takeOver(ITEM, IDS, said)?.ids)).toBe(FIELD);
    const called = callEntry(said, { id: 'c', name: 'f', arguments: '{}' }).place;
    expect(format.takeOver(ITEM, IDS, called)).toBeUndefined();
  });

  it('never stands twice in one message', () => {
    const { place } = reasoningField(undefined, 'a');
    expect(format.takeOver(ITEM, IDS, place)).toMatchObject({ closes: true });
  });

  it('is cut without what opens its message', () => {
    const cut = (ids: Int32Array) => textOf(ids.subarray(...format.reasoningSpan(ids)));
    expect(cut(IDS)).toBe(FIELD);
    expect(cut(format.takeOver(ITEM, IDS, contentField(undefined, 'a').place)?.ids ?? IDS)).toBe(FIELD);
  });

  it('is nothing else by any ids', () => {
    const call: Item = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    expect(format.takeOver(call, IDS, undefined)).toBeUndefined();
    expect(format.takeOver(ITEM, Int32Array.of(1, 2), undefined)).toBeUndefined();
  });
});
