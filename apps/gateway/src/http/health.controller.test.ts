import { expect, it } from '@jest/globals';
import { HealthController } from './health.controller.js';

const health = (draining: boolean, isFull: boolean) =>
  new HealthController({ draining }, { names: () => ['sim'], standing: () => 'ready' }, { isFull }).health();

it('is well while work is taken: not while it drains, nor while its journal takes nothing', () => {
  expect(health(false, false)).toEqual({ status: 'ok', engines: { sim: 'ready' } });
  expect(() => health(true, false)).toThrow(expect.objectContaining({ code: 'server_shutting_down' }));
  expect(() => health(false, true)).toThrow(expect.objectContaining({ code: 'metering_unavailable' }));
});
