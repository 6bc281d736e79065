import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readJson } from './json-text.js';
import { dumps, respaced, str, strip, treeOf } from './python-text.js';

describe('C14: JSON as json.dumps(json.loads(text), ensure_ascii=False) writes it', () => {
  it.each([
    ['{"b":1,"a":2}', '{"b": 1, "a": 2}'],
    ['"a/b"', '"a/b"'],
    ['"a\\/b"', '"a/b"'],
    ['"—"', '"—"'],
    ['"\\u2014\\ud83d\\ude00"', '"—😀"'],
    ['[1,2]', '[1, 2]'],
    ['{"d":"temp > 10 & humidity < 50 (user\'s)"}', '{"d": "temp > 10 & humidity < 50 (user\'s)"}'],
    ['{"2":1,"1":2}', '{"2": 1, "1": 2}'],
    ['{"a":1,"b":2,"a":3}', '{"a": 3, "b": 2}'],
    ['{"__proto__":1}', '{"__proto__": 1}'],
    ['1.0', '1.0'],
    ['100.0', '100.0'],
    ['1e-7', '1e-07'],
    ['12345678901234567890', '12345678901234567890'],
    ['-0.0', '-0.0'],
    ['-0', '0'],
    ['1e16', '1e+16'],
    ['1E5', '100000.0'],
    ['123456789012345.6', '123456789012345.6'],
    ['0.0001', '0.0001'],
    ['0.00001', '1e-05'],
    ['1.5e300', '1.5e+300'],
    ['5e-324', '5e-324'],
    [' [ true , false,null , {} , [] ] ', '[true, false, null, {}, []]'],
    ['"\\b\\f\\n\\r\\t\\u001f\\u007f"', '"\\b\\f\\n\\r\\t\\u001f\u007f"'],
  ])('%s', (text, expected) => {
    expect(respaced(text)).toBe(expected);
  });

  it.each([
    '',
    '{',
    '{"a"}',
    '[1,]',
    '01',
    '+1',
    '1.',
    'nul',
    '"a',
    "{'a': 1}",
    '1 2',
    '"\n"',
    '['.repeat(100_000),
  ])('leaves what is no JSON as it is: %#', (text) => {
    expect(respaced(text)).toBe(text);
  });

  it('says what JSON.parse says, of anything', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        expect(JSON.parse(respaced(text))).toEqual(JSON.parse(text));
        expect(respaced(respaced(text))).toBe(respaced(text));
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        let known = true;
        try {
          JSON.parse(text);
        } catch {
          known = false;
        }
        expect(readJson(text) !== undefined).toBe(known);
      }),
    );
  });

  it('writes a line for each member where it is to be indented', () => {
    expect(dumps(treeOf({ a: [1, { b: 'x' }], c: {}, d: undefined }), 4)).toBe(
      '{\n    "a": [\n        1,\n        {\n            "b": "x"\n        }\n    ],\n    "c": {}\n}',
    );
  });
});

describe('values as Python prints them', () => {
  it.each([
    ['true', 'True'],
    ['null', 'None'],
    ['"text"', 'text'],
    ['["a",1,true]', "['a', 1, True]"],
    ['{"a":"it\'s"}', `{'a': "it's"}`],
    ['1.50', '1.5'],
  ])('%s', (text, expected) => {
    expect(str(readJson(text) ?? null)).toBe(expected);
  });

  it('strips the white space that Python knows', () => {
    expect(strip('\u001c\u0085 \t\u3000x y\u2029\n')).toBe('x y');
    expect(strip('\ufeffx\u200b')).toBe('\ufeffx\u200b');
  });
});
