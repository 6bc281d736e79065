import type { DeadLetters } from '@turnpike/ledger';
import { registry } from '@turnpike/telemetry';
import { Gauge } from 'prom-client';
import type { QueueService } from './queue/queue.service.js';

interface Sources {
  readonly queue: Pick<QueueService, 'counts'>;
  readonly letters: Pick<DeadLetters, 'list'>;
}

let sources: Sources | undefined;

/** Counts what waits whenever metrics are read. What cannot be asked is left out: an old number would say that all is well. */
export function showWaiting(of: Sources): void {
  sources = of;
}

new Gauge({
  name: 'turnpike_usage_jobs',
  help: 'Jobs of the usage queue that are not done, by state.',
  labelNames: ['state'],
  registers: [registry],
  async collect() {
    const counts = (await sources?.queue.counts().catch(() => undefined)) ?? {};
    this.reset();
    for (const [state, jobs] of Object.entries(counts)) this.set({ state }, jobs);
  },
});

new Gauge({
  name: 'turnpike_dead_letters_open',
  help: 'Records that could not be booked and wait for a decision, up to 100.',
  registers: [registry],
  async collect() {
    const open = await sources?.letters.list('open').catch(() => undefined);
    this.remove();
    if (open !== undefined) this.set(open.length);
  },
});
