import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { schemaValue } from './schema-value.js';

/** Whether zod, which reads JSON Schema by itself, takes the value. */
function expectValid(schema: object, text = 'What is the weather in Paris?'): unknown {
  const value = schemaValue(schema as Record<string, unknown>, text);
  const result = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(value);
  expect({ value, issues: result.error?.issues ?? [] }).toEqual({ value, issues: [] });
  return value;
}

const leaf = fc.oneof(
  fc.constantFrom<object>(
    { type: 'string' },
    { type: 'boolean' },
    { type: 'null' },
    { type: ['string', 'null'] },
    { const: 'fixed' },
    { enum: ['a', 'b'] },
    { type: 'string', format: 'date-time' },
    { type: 'string', format: 'uuid' },
  ),
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 50 }))
    .map(([minimum, span]) => ({ type: 'integer', minimum, maximum: minimum + span })),
  fc.tuple(fc.nat(10), fc.nat(10)).map(([a, b]) => ({ type: 'string', minLength: a, maxLength: a + b })),
);

const schemas = fc.letrec<{ node: object }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    leaf,
    fc.record({ type: fc.constant('array'), items: tie('node'), minItems: fc.nat(3) }),
    fc.dictionary(fc.constantFrom('alpha', 'beta', 'gamma'), tie('node')).map((properties) => ({
      type: 'object',
      properties,
      required: Object.keys(properties).slice(0, 2),
      additionalProperties: false,
    })),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
  ),
})).node;

describe('schemaValue', () => {
  it('satisfies any schema made of the usual parts', () => {
    fc.assert(
      fc.property(schemas, fc.string(), (schema, text) => void expectValid(schema, text)),
      { numRuns: 200 },
    );
  });

  it('quotes the text in strings', () => {
    const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    expect(expectValid(schema)).toEqual({ answer: 'What is the weather in Paris?' });
  });

  it('keeps number bounds', () => {
    expectValid({ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 });
    expectValid({ type: 'integer', minimum: 7, multipleOf: 5 });
    expectValid({ type: 'number', maximum: -3 });
    expectValid({ type: 'integer', exclusiveMinimum: 9 });
  });

  it('follows references, and ends recursive ones', () => {
    const list = {
      type: 'object',
      properties: {
        value: { type: 'integer' },
        next: { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] },
      },
      required: ['value', 'next'],
    };
    expectValid({
      type: 'object',
      properties: { head: { $ref: '#/$defs/list' } },
      required: ['head'],
      $defs: { list },
    });
    const tree = {
      type: 'object',
      properties: { children: { type: 'array', items: { $ref: '#' } } },
      required: ['children'],
    };
    expect(JSON.stringify(schemaValue(tree, 'x')).length).toBeLessThan(500);
  });

  it('merges allOf', () => {
    const a = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const b = { type: 'object', properties: { b: { type: 'integer' } }, required: ['b'] };
    expect(schemaValue({ allOf: [a, b] }, 'text')).toEqual({ a: 'text', b: 1 });
  });
});
