import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { parseMetadata } from './metadata.js';

function errorOf(value: unknown): ApiError {
  try {
    parseMetadata(value, 'metadata');
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the value was taken');
}

describe('parseMetadata', () => {
  it('takes 16 pairs of full length', () => {
    const pairs = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${index}`.padStart(64, 'k'), 'v'.repeat(512)]),
    );
    expect(parseMetadata(pairs, 'metadata')).toEqual(pairs);
  });

  it('keeps __proto__ a plain key', () => {
    const metadata = parseMetadata(JSON.parse('{"__proto__":"x"}'), 'metadata');
    expect(Object.entries(metadata)).toEqual([['__proto__', 'x']]);
    expect(Object.getPrototypeOf(metadata)).toBe(Object.prototype);
  });

  it.each<[string, unknown, string, string]>([
    ['a list', [], 'invalid_type', 'metadata'],
    [
      '17 pairs',
      Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])),
      'invalid_value',
      'metadata',
    ],
    ['a value that is a number', { team: 5 }, 'invalid_type', 'metadata.team'],
    ['a value that is null', { team: null }, 'invalid_type', 'metadata.team'],
    ['a long value', { team: 'v'.repeat(513) }, 'invalid_value', 'metadata.team'],
    ['a long key', { ['k'.repeat(65)]: '' }, 'invalid_value', 'metadata'],
    ['a key that could be text', { 'the secret plan': 5 }, 'invalid_type', 'metadata'],
  ])('refuses %s', (_, metadata, code, param) => {
    expect(errorOf(metadata).body).toMatchObject({ code, param });
  });
});
