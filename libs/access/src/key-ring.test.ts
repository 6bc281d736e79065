import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ApiError } from '@turnpike/protocol';
import { KeyRing, OPEN_PRINCIPAL, type Caller, type HashedKey } from './index.js';

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

const caller = (authorization: string | undefined, remoteAddress = '192.0.2.1'): Caller => ({
  headers: { authorization },
  socket: { remoteAddress },
});

async function codeOf(authorization: string | undefined): Promise<string> {
  try {
    await ring.authenticate(caller(authorization));
    return 'let in';
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(ApiError);
    return (thrown as ApiError).code;
  }
}

describe('a ring with keys', () => {
  it('says who holds a key, by its id; of another tenant, and of one that is gone, nobody does', () => {
    expect(ring.holderOf('team-a', 'ci')).toMatchObject({ tenant: 'team-a', key: 'ci' });
    for (const [tenant, key] of [
      ['team-b', 'ci'],
      ['team-a', 'gone'],
      ['team-a', 'open'],
      ['local', 'gone'],
    ] as const) {
      expect(() => ring.holderOf(tenant, key)).toThrow(new ApiError('invalid_api_key'));
    }
  });

  it('goes on with what was taken while there were none, and with nothing more', () => {
    for (const each of [new KeyRing([]), ring]) expect(each.holderOf('local', 'open')).toBe(OPEN_PRINCIPAL);
    expect(() => ring.holderOf('local', 'open', 'admin')).toThrow(ApiError);
    expect(() => ring.current(OPEN_PRINCIPAL)).toThrow(new ApiError('invalid_api_key'));
    const named = new KeyRing([hashed('open', 'team-a', 'sk-open')]);
    expect(() => named.holderOf('local', 'open')).toThrow(new ApiError('invalid_api_key'));
  });

  it('is not open', () => {
    expect(ring.open).toBe(false);
  });

  it.each([
    ['Bearer sk-a1', { tenant: 'team-a', key: 'laptop' }],
    ['Bearer sk-a2', { tenant: 'team-a', key: 'ci' }],
    ['Bearer sk-b1', { tenant: 'team-b', key: 'desk' }],
    ['bearer sk-a1', { tenant: 'team-a', key: 'laptop' }],
    ['BEARER  sk-a1 ', { tenant: 'team-a', key: 'laptop' }],
  ])('knows who holds %j', async (authorization, principal) => {
    const found = await ring.authenticate(caller(authorization));
    expect(found).toEqual({ ...principal, scopes: ['inference'] });
    expect(ring.current(found)).toBe(found);
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
  ])('lets %j out', async (authorization) => {
    expect(await codeOf(authorization)).toBe('invalid_api_key');
  });

  it('says nothing of the key in its error', async () => {
    await expect(ring.authenticate(caller('Bearer sk-wrong'))).rejects.toThrow(
      /^Incorrect or missing API key\.$/,
    );
  });
});

describe('a ring without keys', () => {
  it.each([[undefined], ['Bearer anything'], ['nonsense']])('is open to %j', async (authorization) => {
    const open = new KeyRing([]);
    expect(open.open).toBe(true);
    expect(await open.authenticate(caller(authorization))).toBe(OPEN_PRINCIPAL);
    expect(open.current(OPEN_PRINCIPAL)).toBe(OPEN_PRINCIPAL);
  });
});

describe('scopes', () => {
  const scoped = new KeyRing([
    { ...hashed('reader', 'team-a', 'sk-r'), scopes: ['billing'] },
    { ...hashed('boss', 'team-a', 'sk-o'), scopes: ['operator'] },
  ]);
  it.each([
    ['sk-r', 'billing', true],
    ['sk-r', 'inference', false],
    ['sk-r', 'admin', false],
    ['sk-r', 'operator', false],
    ['sk-o', 'admin', true],
    ['sk-o', 'billing', true],
    ['sk-o', 'operator', true],
    ['sk-o', 'inference', false],
  ] as const)('of %s and %s', async (key, scope, isAllowed) => {
    const asked = scoped.authenticate(caller(`Bearer ${key}`), scope);
    if (isAllowed) expect(await asked).toMatchObject({ tenant: 'team-a' });
    else await expect(asked).rejects.toMatchObject({ code: 'insufficient_permissions', status: 403 });
  });
});

describe('attempts with unknown keys', () => {
  it('are bounded by where they come from; known keys are let in all the while', async () => {
    let now = 0;
    const guarded = new KeyRing([hashed('laptop', 'team-a', 'sk-a1')], { now: () => now });
    const attempt = (address: string) => guarded.authenticate(caller('Bearer sk-guess', address));
    for (let count = 0; count < 30; count++) {
      await expect(attempt('192.0.2.7')).rejects.toMatchObject({ status: 401 });
      await expect(attempt(`2001:db8::${count}`)).rejects.toMatchObject({ status: 401 });
    }
    now = 59_000;
    const refused = { status: 429, code: 'too_many_failed_attempts', retryAfter: 1 };
    await expect(attempt('192.0.2.7')).rejects.toMatchObject(refused);
    await expect(attempt('::ffff:192.0.2.7')).rejects.toMatchObject(refused);
    await expect(attempt('2001:db8:0:0:ffff::1')).rejects.toMatchObject(refused);
    await expect(attempt('2001:db8:0:1::1')).rejects.toMatchObject({ status: 401 });
    await expect(attempt('192.0.2.8')).rejects.toMatchObject({ status: 401 });
    expect(await guarded.authenticate(caller('Bearer sk-a1', '192.0.2.7'))).toMatchObject({ key: 'laptop' });
    now = 60_000;
    await expect(attempt('192.0.2.7')).rejects.toMatchObject({ status: 401 });
  });
});

describe('a ring that asks a database', () => {
  it('asks once for all who wait, and lets in who it knows when it cannot be asked', async () => {
    let asked = 0;
    let isDown = false;
    const failures: unknown[] = [];
    const stored = {
      id: 'key_1',
      tenant: 'team-a',
      name: 'n',
      prefix: 'tpk_',
      scopes: ['inference' as const],
      models: undefined,
      createdAt: 0,
      expiresAt: undefined,
      revokedAt: undefined,
      rotatedAt: undefined,
      previousUntil: undefined,
      lastUsedAt: undefined,
      hash: hashed('', '', 'sk-s').sha256,
      previousHash: undefined,
    };
    const held = new KeyRing([], {
      times: { everyMs: 3_600_000, leastMs: 0 },
      onFailure: (error) => failures.push(error),
      source: {
        changesSince: (revision) => {
          asked++;
          if (isDown) return Promise.reject(new Error('down'));
          return Promise.resolve({ revision: 1, keys: revision === 0 ? [stored] : [], budgets: [] });
        },
        touch: () => Promise.resolve(),
      },
    });
    await held.start();
    expect(held.open).toBe(false);
    const guesses = Array.from({ length: 20 }, (_, index) =>
      held.authenticate(caller(`Bearer guess-${index}`)).catch((thrown: unknown) => thrown),
    );
    expect(await Promise.all(guesses)).toHaveLength(20);
    expect(asked).toBe(2);
    isDown = true;
    await expect(held.authenticate(caller('Bearer guess'))).rejects.toMatchObject({ status: 401 });
    expect(failures).toHaveLength(1);
    expect(await held.authenticate(caller('Bearer sk-s'))).toMatchObject({ key: 'key_1' });
    await held.stop();
  });
});
