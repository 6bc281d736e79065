import { describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { scanMessages } from './scan.js';
import { idsOf } from './test-support.js';

/** Messages with their offsets replaced by the text there. */
function scan(text: string, from?: number) {
  const ids = Int32Array.from(idsOf(text));
  return scanMessages(ids, from).map(({ start, end, contentStart, contentEnd, ...rest }) => ({
    header: rest,
    content: o200kHarmony().decode(ids.subarray(contentStart, contentEnd)),
    whole: o200kHarmony().decode(ids.subarray(start, end)),
  }));
}

const loop = [
  '<|start|>system<|message|>You are.<|end|>',
  '<|start|>user:ann<|message|>Hi<|end|>',
  '<|start|>assistant<|channel|>analysis<|message|>Hm<|end|>',
  '<|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>',
  '<|start|>functions.f to=assistant<|channel|>commentary<|message|>ok<|end|>',
  '<|start|>assistant',
];

describe('scanMessages', () => {
  it('reads headers and leaves contents as ranges', () => {
    const messages = scan(loop.join(''));
    expect(messages.map(({ whole }) => whole)).toEqual(loop);
    const complete = true;
    expect(messages.map(({ header, content }) => [header, content])).toEqual([
      [{ role: 'system', complete }, 'You are.'],
      [{ role: 'user', name: 'ann', complete }, 'Hi'],
      [{ role: 'assistant', channel: 'analysis', complete }, 'Hm'],
      [
        { role: 'assistant', recipient: 'functions.f', channel: 'commentary', contentType: 'json', complete },
        '{}',
      ],
      [{ role: 'tool', name: 'functions.f', recipient: 'assistant', channel: 'commentary', complete }, 'ok'],
      [{ role: 'assistant', complete: false }, ''],
    ]);
  });

  it('reads from an offset as if nothing stood before', () => {
    const from = idsOf(loop.slice(0, 3).join('')).length;
    expect(scan(loop.join(''), from)).toEqual(scan(loop.join('')).slice(3));
    const ids = Int32Array.from(idsOf(loop.join('')));
    expect(scanMessages(ids, from)[0]?.start).toBe(from);
    expect(scanMessages(ids, ids.length)).toEqual([]);
  });

  it('reads what a model wrote wrongly', () => {
    const missing = '<|end|>commentary to=functions.f<|message|>{}<|call|>';
    const twice = '<|start|>assistant<|start|>user<|message|>a';
    const unopened = '<|start|>assistant I refuse to.do it<|end|>';
    expect(scan(missing + unopened + twice).map(({ header, content }) => [header, content])).toEqual([
      [{ role: 'assistant', channel: 'commentary', recipient: 'functions.f', complete: true }, '{}'],
      [{ role: 'assistant', complete: true }, 'assistant I refuse to.do it'],
      [{ role: 'user', complete: false }, 'a'],
    ]);
  });
});
