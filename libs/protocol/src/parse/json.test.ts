import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../errors.js';
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, parseJson } from './json.js';

function codeOf(text: string): string {
  try {
    parseJson(text);
    return 'parsed';
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ApiError);
    return (thrown as ApiError).code;
  }
}

describe('parseJson', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('throws nothing but an ApiError on any text, and never repeats it', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', 'u', 'd', '8', ':', ',', 'secret'),
        }),
        (text) => {
          try {
            parseJson(text);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(ApiError);
            expect((thrown as ApiError).message).not.toContain('secret');
          }
        },
      ),
    );
  });

  it('takes nesting up to the limit and not beyond', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(codeOf(nested(MAX_JSON_DEPTH))).toBe('parsed');
    expect(codeOf(nested(MAX_JSON_DEPTH + 1))).toBe('json_too_deep');
    expect(codeOf('{"a":'.repeat(MAX_JSON_DEPTH + 1))).toBe('json_too_deep');
  });

  it('counts depth, not brackets', () => {
    expect(codeOf(`[${'[],{},'.repeat(1_000)}0]`)).toBe('parsed');
  });

  it('refuses a megabyte of brackets before it parses', () => {
    expect(codeOf('['.repeat(1024 * 1024))).toBe('json_too_deep');
    expect(codeOf('{"input":'.repeat(100_000))).toBe('json_too_deep');
  });

  it('takes values up to the limit and not beyond, whatever they are', () => {
    const zeros = (count: number) => `[${'0,'.repeat(count - 1)}0]`;
    expect(codeOf(zeros(MAX_JSON_VALUES))).toBe('parsed');
    expect(codeOf(zeros(MAX_JSON_VALUES + 1))).toBe('json_too_many_values');
    expect(codeOf(`[${'{},'.repeat(MAX_JSON_VALUES / 2)}0]`)).toBe('json_too_many_values');
    expect(codeOf('{}'.repeat(MAX_JSON_VALUES + 1))).toBe('json_too_many_values');
    expect(codeOf(`["${',{['.repeat(MAX_JSON_VALUES)}"]`)).toBe('parsed');
  });

  it.each([
    ['brackets', '['.repeat(10_000)],
    ['brackets after an escaped quote', `\\"${'['.repeat(1_000)}`],
    ['brackets after escaped backslashes', `\\\\\\\\\\"${'{'.repeat(1_000)}`],
  ])('does not count %s inside a string', (_, inside) => {
    expect(codeOf(`{"a":"${inside}"}`)).toBe('parsed');
  });

  it('counts brackets again after a string that ends in a backslash', () => {
    expect(codeOf(`["\\\\",${'['.repeat(MAX_JSON_DEPTH)}`)).toBe('json_too_deep');
  });

  it.each(['', 'x', '{', '{"a"', '"open', '{"a":1}x', "{'a':1}", '"\\ud83"'])('calls %j invalid', (text) => {
    expect(codeOf(text)).toBe('invalid_json');
  });

  it('turns lone surrogates into U+FFFD, in values and keys, and leaves pairs alone', () => {
    expect(
      parseJson('{"a":"x\\ud83d","\\udc97":["\\udc97y",{"b":"\\uD83D\\uDE00"}],"n":null,"t":true,"i":1}'),
    ).toEqual({
      a: 'x\ufffd',
      '\ufffd': ['\ufffdy', { b: '😀' }],
      n: null,
      t: true,
      i: 1,
    });
  });

  it('gives well-formed text for any escapes', () => {
    const unit = fc.constantFrom('\\ud83d', '\\uDE00', '\\ud800', '\\udfff', '\\u00e9', 'a', '\\\\', '\\"');
    fc.assert(
      fc.property(fc.string({ unit }), (inside) => {
        const raw = JSON.parse(`"${inside}"`) as string;
        expect(parseJson(`["${inside}"]`)).toEqual([raw.toWellFormed()]);
      }),
    );
  });

  it('keeps __proto__ a plain key, also where strings are repaired', () => {
    for (const text of ['{"__proto__":{"admin":true}}', '{"__proto__":{"admin":true},"s":"\\ud800"}']) {
      const value = parseJson(text) as Record<string, unknown>;
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.hasOwn(value, '__proto__')).toBe(true);
      expect(value['admin']).toBeUndefined();
    }
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });
});
