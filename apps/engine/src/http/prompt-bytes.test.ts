import { describe, expect, it } from '@jest/globals';
import { locatePrompt, parseIds } from './prompt-bytes.js';

const located = (text: string) => locatePrompt(Buffer.from(text));
const parsed = (text: string) => {
  const body = Buffer.from(text);
  const ids = parseIds(body, 0, body.length, 1000);
  return ids && [...ids];
};

describe('locatePrompt', () => {
  it('finds the array and the other fields, wherever the prompt stands', () => {
    for (const text of [
      '{"prompt":[1,2],"model":"m","x":[3]}',
      '{"x":[3],"model":"m","prompt":[1,2]}',
      '{"x":[3],"prompt":[1,2],"model":"m"}',
    ]) {
      const found = located(text);
      expect(found && text.slice(found.start, found.end)).toBe('1,2');
      expect(found?.fields).toEqual({ model: 'm', x: [3] });
    }
  });

  it.each([
    ['a prompt with blanks', '{"prompt": [1, 2]}'],
    ['an empty prompt', '{"prompt":[]}'],
    ['a text prompt', '{"prompt":"[1,2]"}'],
    ['a prompt deeper down', '{"x":{"prompt":[1,2]},"prompt":"hi"}'],
    ['a prompt that a later one replaces', '{"prompt":[1,2],"prompt":"hi"}'],
    ['a prompt inside a string', '{"x":"\\"prompt\\":[1,2]","prompt":"hi"}'],
    ['a body that ends early', '{"prompt":[1,2'],
    ['broken JSON', '{"prompt":[1,2],}'],
    ['a list', '["prompt",[1,2]]'],
  ])('leaves %s to JSON.parse', (_name, text) => {
    expect(located(text)).toBeUndefined();
  });
});

describe('parseIds', () => {
  it('reads canonical numbers', () => {
    expect(parsed('0,1,20,999')).toEqual([0, 1, 20, 999]);
    expect(parsed('')).toEqual([]);
  });

  it.each(['1000', '01', '1,', ',1', '1,,2', '1 2', '-1', '1.5', '1e2', '99999999999', '"1"'])(
    'refuses %s',
    (text) => {
      expect(parsed(text)).toBeUndefined();
    },
  );
});
