import { describe, expect, it } from '@jest/globals';
import { requireKeys } from './access.js';

describe('a host that others can reach', () => {
  const hosts = ['0.0.0.0', '::', '192.168.1.5', 'gateway.internal', '', '127.evil.example'];
  it.each(hosts)('is refused without keys: %j', (host) => {
    expect(() => requireKeys({ host }, { open: true })).toThrow(/^host: .* keys are required/);
  });

  it.each(hosts)('is taken with keys: %j', (host) => {
    expect(() => requireKeys({ host }, { open: false })).not.toThrow();
  });

  it.each(['127.0.0.1', '127.0.0.2', '::1', 'localhost'])('is not %s', (host) => {
    expect(() => requireKeys({ host }, { open: true })).not.toThrow();
  });
});
