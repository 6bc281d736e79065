import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LiteralJson } from './literal-json.js';

/** The JSON of literals up to the bracket that closes them, given in parts. */
function json(parts: readonly string[]): string {
  let out = '';
  const literals = new LiteralJson((text) => {
    out += text;
  });
  for (const part of parts) literals.text(part, 0);
  literals.finish();
  return out;
}

/** Python's way of writing a value. */
function python(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&').replace(/\n/g, '\\n')}'`;
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${python(key)}: ${python(member)}`)
    .join(', ')}}`;
}

describe('LiteralJson', () => {
  it('knows no words but those of Python and JSON', () => {
    expect(JSON.parse(json(["'a': constructor, 'b': toString}"]))).toEqual({
      a: 'constructor',
      b: 'toString',
    });
  });

  it('writes what Python writes as JSON, whatever the parts are', () => {
    const scalar = fc.oneof(
      fc.constant(null),
      fc.boolean(),
      fc.integer(),
      fc.string({ maxLength: 8 }).filter((text) => text !== '__proto__'),
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        scalar,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('a', 'b c', "d'"), tie('tree'), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('x', 'y', 'z'), tree),
        fc.integer({ min: 1, max: 7 }),
        (value, size) => {
          const written = `${Object.entries(value)
            .map(([key, member]) => `${key}=${python(member)}`)
            .join(', ')})`;
          const parts = written.match(new RegExp(`.{1,${size}}`, 'gs')) ?? [];
          expect(JSON.parse(json(parts))).toEqual(value);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('writes JSON whatever it is given', () => {
    const part = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '(',
      ')',
      ',',
      ':',
      '=',
      "'",
      '"',
      '\\',
      'a',
      '1',
      ' ',
      'None',
      '\n',
      'é',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 16 }), (parts) => {
        JSON.parse(json(parts));
      }),
      { numRuns: 3000 },
    );
  });
});
