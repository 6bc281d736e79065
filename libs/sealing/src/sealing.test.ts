import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSealingKeys, packSampledIds, Sealer, unpackSampledIds } from './index.js';

const OLD = randomBytes(32);
const NEW = randomBytes(32);

describe('Sealer', () => {
  it('opens what it sealed, for the tenant it was sealed for', () => {
    const sealer = new Sealer([NEW]);
    fc.assert(
      fc.property(fc.string(), fc.uint8Array(), (tenant, bytes) => {
        const opened = sealer.open(tenant, sealer.seal(tenant, bytes));
        expect(opened.kind === 'opened' && [...opened.bytes]).toEqual([...bytes]);
        expect(sealer.open(`${tenant}x`, sealer.seal(tenant, bytes)).kind).toBe('forged');
      }),
    );
  });

  it('seals with the first key and opens with every one', () => {
    const sealed = new Sealer([OLD]).seal('t', Buffer.from('x'));
    expect(new Sealer([NEW, OLD]).open('t', sealed).kind).toBe('opened');
    expect(new Sealer([NEW]).open('t', sealed).kind).toBe('foreign');
    const rotated = new Sealer([NEW, OLD]).seal('t', Buffer.from('x'));
    expect(new Sealer([NEW]).open('t', rotated).kind).toBe('opened');
  });

  it('notices every change, and leaves alone what is not its own', () => {
    const sealer = new Sealer([NEW]);
    const sealed = sealer.seal('t', Buffer.from('twelve bytes'));
    for (let at = 4; at < sealed.length; at++) {
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      const { kind } = sealer.open('t', changed);
      // The last digit of base64 may carry bits that mean nothing.
      if (at < sealed.length - 1) expect(['forged', 'foreign']).toContain(kind);
    }
    fc.assert(fc.property(fc.string(), (text) => expect(sealer.open('t', text).kind).toBe('foreign')));
    expect(sealer.open('t', 'tp1.AAAA').kind).toBe('forged');
  });

  it('has a salt for each tenant, that only its keys tell', () => {
    const sealer = new Sealer([NEW]);
    expect(sealer.saltOf('t')).toMatch(/^[\w-]{43}$/);
    expect(sealer.saltOf('t')).toBe(new Sealer([NEW, OLD]).saltOf('t'));
    expect(new Set([sealer.saltOf('t'), sealer.saltOf('u'), new Sealer([OLD]).saltOf('t')]).size).toBe(3);
  });

  it('takes only real keys', () => {
    expect(() => new Sealer([])).toThrow(RangeError);
    expect(() => new Sealer([randomBytes(16)])).toThrow('32 bytes, not 16');
  });
});

describe('sampled ids', () => {
  it('come back exactly', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(2 ** 31 - 1)), (ids) => {
        const back = unpackSampledIds(packSampledIds({ format: 'harmony', ids: Int32Array.from(ids) }));
        expect([back?.format, ...(back?.ids ?? [])]).toEqual(['harmony', ...ids]);
      }),
    );
  });

  it('of other bytes are undefined or ids, never an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        for (const id of unpackSampledIds(bytes)?.ids ?? []) expect(id).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('loadSealingKeys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-keys-'));
  const path = join(folder, 'below', 'sealing.key');
  afterEach(() => rmSync(join(folder, 'below'), { recursive: true, force: true }));

  it('makes a file that only its owner reads, and reads it again', () => {
    const keys = loadSealingKeys(path);
    expect(keys).toHaveLength(1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(loadSealingKeys(path)).toEqual(keys);
  });

  it('reads several keys and comments, and refuses anything else', () => {
    loadSealingKeys(path);
    chmodSync(path, 0o600);
    writeFileSync(path, `# new\n${NEW.toString('base64')}\n\n${OLD.toString('base64')}\n`);
    expect(loadSealingKeys(path)).toEqual([NEW, OLD]);
    writeFileSync(path, 'secret\n');
    expect(() => loadSealingKeys(path)).toThrow('32 bytes in base64');
    writeFileSync(path, '');
    expect(() => loadSealingKeys(path)).toThrow('must hold sealing keys');
  });
});
