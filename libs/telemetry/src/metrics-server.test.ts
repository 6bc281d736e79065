import { afterEach, describe, expect, it } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { MetricsServer } from './index.js';

describe('MetricsServer', () => {
  const registry = new Registry();
  const turns = new Counter({ name: 'turns_total', help: 'Turns.', registers: [registry] });
  let server: MetricsServer;
  afterEach(() => server.close());

  async function get(path: string, method = 'GET') {
    server = new MetricsServer(registry);
    const port = await server.listen(0, '127.0.0.1');
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return {
      status: response.status,
      text: await response.text(),
      type: response.headers.get('content-type'),
    };
  }

  it('gives out what was counted', async () => {
    turns.inc(3);
    const { status, text, type } = await get('/metrics');
    expect([status, type]).toEqual([200, expect.stringContaining('text/plain')]);
    expect(text).toContain('\nturns_total 3\n');
  });

  it.each([
    ['/', 'GET'],
    ['/metrics', 'POST'],
    ['/v1/models', 'GET'],
  ])('has nothing at %s for %s', async (path, method) => {
    expect((await get(path, method)).status).toBe(404);
  });

  it('says when its address cannot be used', async () => {
    server = new MetricsServer(registry);
    const port = await server.listen(0, '127.0.0.1');
    const second = new MetricsServer(registry);
    await expect(second.listen(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
