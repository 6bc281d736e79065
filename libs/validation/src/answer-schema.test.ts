import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/protocol';
import { answerCheck, answerSchemasCompiled } from './answer-schema.js';
import { withinTime } from './within-time.js';

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
  additionalProperties: false,
};

function check(schema: Record<string, unknown>, text: string): string | undefined {
  return answerCheck({ type: 'json_schema', name: 's', schema })?.(text);
}

function refusalOf(schema: Record<string, unknown>): ApiError {
  try {
    answerCheck({ type: 'json_schema', name: 's', schema });
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the schema was taken');
}

describe('answerCheck', () => {
  it('lets any text pass where no format is asked for', () => {
    expect(answerCheck({ type: 'text' })).toBeUndefined();
  });

  it('wants an object for json_object', () => {
    const object = answerCheck({ type: 'json_object' });
    expect(object?.(' {"a": [1]} ')).toBeUndefined();
    expect(['', '{', '[]', 'null', '1', '{} {}'].map((text) => object?.(text) !== undefined)).toEqual(
      Array(6).fill(true),
    );
  });

  it('wants what the schema says', () => {
    expect(check(person, '{"name":"A","age":3}')).toBeUndefined();
    expect(check(person, '{"name":"A","age":3')).toBe('it is not valid JSON');
    expect(check(person, '{"name":"A"}')).toBe("it does not satisfy the schema: required at '#/required'");
    expect(check(person, '{"name":"A","age":"secret"}')).toBe(
      "it does not satisfy the schema: type at '#/properties/age/type'",
    );
    expect(check(person, '{"name":"A","age":3,"x":1}')).toContain('additionalProperties');
  });

  it('follows references into the schema, recursive ones too', () => {
    const tree = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['v'] } },
      $ref: '#/$defs/node',
    };
    expect(check(tree, '{"v":1,"next":{"v":2}}')).toBeUndefined();
    expect(check(tree, '{"v":1,"next":{}}')).toContain('required');
  });

  it('refuses references that no answer could ever be checked against', () => {
    expect(refusalOf({ $ref: '#' }).body).toMatchObject({
      param: 'text.format.schema',
      message: "The schema of 'text.format' refers to itself without end at '#'.",
    });
  });

  it('passes over what it does not know: dialects, keywords, formats', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { at: { type: 'string', format: 'date-time', 'x-order': 1 } },
    };
    expect(check(schema, '{"at":"soon"}')).toBeUndefined();
  });

  it('compiles a schema once', () => {
    const schema = { type: 'object', title: 'compiled once' };
    const before = answerSchemasCompiled();
    check(schema, '{}');
    check({ ...schema }, '{}');
    expect(answerSchemasCompiled()).toBe(before + 1);
  });

  it('keeps ids of schemas apart', () => {
    expect(check({ $id: 'https://example.com/s', type: 'object' }, '{}')).toBeUndefined();
    expect(check({ $id: 'https://example.com/s', type: 'array' }, '[]')).toBeUndefined();
  });
});

describe('schemas that are refused', () => {
  let deep: Record<string, unknown> = { type: 'string' };
  for (let level = 0; level < 70; level++) deep = { type: 'array', items: deep };

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a type that is none', { type: 'strong' }, /cannot be used/],
    ['a keyword of the wrong type', { type: 'object', required: 'name' }, /cannot be used: schema\/required/],
    ['a reference to nowhere', { $ref: '#/$defs/x' }, /cannot be used: can't resolve reference/],
    ['a reference to another server', { $ref: 'http://example.com/s.json' }, /can't resolve reference/],
    ['a pattern that is none', { type: 'string', pattern: '(' }, /cannot be used/],
    ['an asynchronous one', { $async: true, type: 'object' }, /\$async/],
    ['a long one', { type: 'object', description: 'x'.repeat(200_000) }, /longer than 131072/],
    ['a deep one', deep, /deeper than 64/],
  ])('%s', (_name, schema, message) => {
    const { body } = refusalOf(schema);
    expect(body).toMatchObject({ code: 'invalid_value', param: 'text.format.schema' });
    expect(body.message).toMatch(message);
  });
});

describe('schemas and answers that would stall', () => {
  const bounded = 'it could not be checked against the schema in time';

  it('ends a pattern that backtracks', () => {
    expect(check({ type: 'string', pattern: '^(a+)+$' }, JSON.stringify(`${'a'.repeat(60)}!`))).toBe(bounded);
  });

  it('ends a reference to itself by name, and one that doubles at every step', () => {
    expect(check({ $defs: { a: { $anchor: 'a', $ref: '#a' } }, $ref: '#/$defs/a' }, '{}')).toBe(bounded);
    const $defs: Record<string, unknown> = { n40: { type: 'object' } };
    for (let n = 0; n < 40; n++) $defs[`n${n}`] = { allOf: Array(2).fill({ $ref: `#/$defs/n${n + 1}` }) };
    expect(check({ $defs, $ref: '#/$defs/n0' }, '{}')).toBe(bounded);
  });

  it('ends nesting that no stack holds', () => {
    const list = { type: 'array', items: { $ref: '#' } };
    expect(check(list, '['.repeat(50_000) + ']'.repeat(50_000))).toBe(bounded);
  });

  it('goes on as before', () => {
    expect(check(person, '{"name":"A","age":3}')).toBeUndefined();
  });
});

describe('withinTime', () => {
  it('gives back what the action does', () => {
    expect(withinTime(1_000, () => 7)).toBe(7);
    expect(() =>
      withinTime(1_000, () => {
        throw new RangeError('no');
      }),
    ).toThrow(new RangeError('no'));
  });

  it('stops it when its time is up', () => {
    expect(() =>
      withinTime(20, () => {
        for (;;);
      }),
    ).toThrow(/timed out/);
  });
});
