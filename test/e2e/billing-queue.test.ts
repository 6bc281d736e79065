import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { usageRecord } from '../ledger/records.js';
import { Browser } from './console/browser.js';
import { BillingStand, until } from './console/stand.js';
import { App } from './platform.js';

let stand: BillingStand;
beforeAll(async () => {
  stand = await BillingStand.start();
});
afterAll(() => stand.stop());
const asKey = (...asked: Parameters<BillingStand['asKey']>) => stand.asKey(...asked);

describe('the queue', () => {
  it('has a board for operators, which no page of another site can use', async () => {
    const browser = await new Browser(stand).signIn('operator');
    expect((await browser.get('/admin/queues/')).status).toBe(200);
    await browser.get('/admin/queues/api/queues');
    expect(browser.page).toContain('"name":"usage"');
    const evil = { origin: 'https://evil.example' };
    expect((await browser.post('/admin/queues/api/queues/usage/pause', {}, evil)).status).toBe(403);
  });

  it('that was paused is not well until it is resumed', async () => {
    const connection = new Redis(stand.redis.url, { maxRetriesPerRequest: null });
    const paused = new Queue('usage', { connection });
    try {
      await paused.pause();
      expect((await health()).queue).toBe('the queue is paused');
      await paused.resume();
      await until(async () => (await health()).queue === 'ok');
    } finally {
      await paused.close();
      connection.disconnect();
    }
  });

  it('may go away and come back: what is delivered is booked, once', async () => {
    await stand.redis.kill();
    await until(async () => !(await health()).queue.startsWith('ok'));
    expect((await health()).status).toBe('ok');
    expect((await asKey('operator', 'reconciliation')).status).toBe(503);
    await stand.redis.start();
    // Although there is nothing to book yet.
    await until(async () => (await health()).queue === 'ok');
    const record = usageRecord('resp_after', { tenant: 't' });
    await stand.deliver([record]);
    await stand.deliver([record, usageRecord('resp_last', { tenant: 't' })]);
    await until(async () => (await asKey('t', 'responses/resp_last')).status === 200);
    const story = JSON.parse((await asKey('t', 'responses/resp_after')).text) as { transactions: unknown[] };
    expect(story.transactions).toHaveLength(1);
  });

  it('is refused at the start when Redis may throw jobs away', async () => {
    const client = new Redis(stand.redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      const start = App.start('billing', [], { PORT: '0', REDIS_URL: stand.redis.url });
      await expect(start).rejects.toThrow(/ended with 2:[^]*REDIS_URL: .*noeviction/);
    } finally {
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      client.disconnect();
    }
  });
});

async function health(): Promise<{ status: string; queue: string }> {
  const answer = await fetch(`${stand.billing.url}/health`);
  return (await answer.json()) as { status: string; queue: string };
}
