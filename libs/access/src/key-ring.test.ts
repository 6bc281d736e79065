import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ApiError } from '@turnpike/protocol';
import { KeyRing, OPEN_PRINCIPAL, type HashedKey } from './index.js';

const hashed = (name: string, tenant: string, key: string): HashedKey => ({
  name,
  tenant,
  sha256: createHash('sha256').update(key).digest('hex'),
});

const ring = new KeyRing([
  hashed('laptop', 'team-a', 'sk-a1'),
  hashed('ci', 'team-a', 'sk-a2'),
  hashed('desk', 'team-b', 'sk-b1'),
]);

function codeOf(authorization: string | undefined): string {
  try {
    ring.authenticate(authorization);
    return 'let in';
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ApiError);
    return (thrown as ApiError).code;
  }
}

describe('a ring with keys', () => {
  it('is not open', () => {
    expect(ring.open).toBe(false);
  });

  it.each([
    ['Bearer sk-a1', { tenant: 'team-a', key: 'laptop' }],
    ['Bearer sk-a2', { tenant: 'team-a', key: 'ci' }],
    ['Bearer sk-b1', { tenant: 'team-b', key: 'desk' }],
    ['bearer sk-a1', { tenant: 'team-a', key: 'laptop' }],
    ['BEARER  sk-a1 ', { tenant: 'team-a', key: 'laptop' }],
  ])('knows who holds %j', (authorization, principal) => {
    expect(ring.authenticate(authorization)).toEqual(principal);
  });

  it.each([
    [undefined],
    [''],
    ['Bearer'],
    ['Bearer '],
    ['sk-a1'],
    ['Basic sk-a1'],
    ['Bearer sk-a'],
    ['Bearer sk-a11'],
    ['Bearer SK-A1'],
    ['Bearer sk-a1 sk-a2'],
    ['Bearer sk-a1,'],
    [`Bearer ${createHash('sha256').update('sk-a1').digest('hex')}`],
    [`Bearer ${'x'.repeat(100_000)}`],
  ])('lets %j out', (authorization) => {
    expect(codeOf(authorization)).toBe('invalid_api_key');
  });

  it('says nothing of the key in its error', () => {
    expect(() => ring.authenticate('Bearer sk-wrong')).toThrow('Incorrect or missing API key.');
  });
});

describe('a ring without keys', () => {
  it.each([[undefined], ['Bearer anything'], ['nonsense']])('is open to %j', (authorization) => {
    const open = new KeyRing([]);
    expect(open.open).toBe(true);
    expect(open.authenticate(authorization)).toBe(OPEN_PRINCIPAL);
  });
});
