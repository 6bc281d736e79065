import { describe, expect, it } from '@jest/globals';
import { endlessReference } from './endless-reference.js';

describe('endlessReference', () => {
  it.each([
    ['itself', { $ref: '#' }, '#'],
    [
      'itself by a detour',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } } },
      /^#\/\$defs\/[ab]$/,
    ],
    ['the schema around it', { anyOf: [{ type: 'null' }, { $ref: '#' }] }, '#'],
    [
      'a name that needs escaping',
      { $defs: { 'a/b~c d': { $ref: '#/$defs/a~1b~0c%20d' } } },
      '#/$defs/a~1b~0c%20d',
    ],
    ['itself below a property', { properties: { x: { not: { $ref: '#/properties/x' } } } }, '#/properties/x'],
    ['the whole from a branch', { if: {}, then: { $ref: '#' } }, '#'],
  ])('is found where a schema refers to %s', (_what, schema, reference) => {
    expect(endlessReference(schema)).toEqual(
      typeof reference === 'string' ? reference : expect.stringMatching(reference),
    );
  });

  it.each([
    ['a tree', { properties: { left: { $ref: '#' }, right: { $ref: '#' } } }],
    ['a list of itself', { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#' } }] }],
    [
      'one definition used twice',
      { $defs: { a: {} }, allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] },
    ],
    ['a reference to nothing', { $ref: '#/$defs/missing' }],
    ['a reference by name', { $id: 'x', $ref: 'y' }],
    ['odd values', { allOf: 'x', not: [1], dependentSchemas: null, $ref: 3 }],
  ])('is not seen in %s', (_what, schema) => {
    expect(endlessReference(schema as Record<string, unknown>)).toBeUndefined();
  });

  it('goes through a schema once, however it is woven', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, n) => [
        `d${n}`,
        { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
      ]),
    );
    expect(endlessReference({ $defs, $ref: '#/$defs/d0' })).toBeUndefined();
  });
});
