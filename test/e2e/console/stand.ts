import { SqlAccess, type Scope } from '@turnpike/access';
import { Ledger } from '@turnpike/ledger';
import { UsageQueue, type UsageRecord } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usageRecord } from '../../ledger/records.js';
import { App } from '../platform.js';
import { startRedis, type RedisService } from '../services.js';

/** Keys by their names: the tenant and the scope of each. */
const KEYS: readonly [name: string, tenant: string, scope: Scope][] = [
  ['operator', 'ops', 'operator'],
  ['t', 't', 'billing'],
  ['u', 'u', 'billing'],
  ['agent', 't', 'inference'],
];

/** The billing app with a ledger and a Redis of its own, in which two tenants have used something. */
export class BillingStand {
  #sequence = 0;

  private constructor(
    readonly billing: App,
    readonly redis: RedisService,
    readonly folder: string,
    private readonly queue: UsageQueue,
    private readonly keys: ReadonlyMap<string, string>,
  ) {}

  static async start(): Promise<BillingStand> {
    const redis = await startRedis({ own: true });
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-billing-'));
    const keys = await makeKeys(join(folder, 'data/turnpike.db'));
    const billing = await App.start('billing', [], { PORT: '0', REDIS_URL: redis.url }, folder);
    const queue = new UsageQueue({ url: redis.url, onError: () => undefined });
    const stand = new BillingStand(billing, redis, folder, queue, keys);
    await stand.deliver([
      usageRecord('resp_1', { tenant: 't', output: 100 }),
      usageRecord('resp_2', { tenant: 'u', key: '=cmd()', output: 50 }),
    ]);
    await until(async () => (await stand.asKey('t', 'responses/resp_1')).status === 200);
    return stand;
  }

  async stop(): Promise<void> {
    await this.queue.close();
    await this.billing.stop();
    await this.redis.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  keyOf(name: string): string {
    return this.keys.get(name) ?? '';
  }

  /** As a gateway does: every record has a number of its own in the journal, and a failed delivery comes again. */
  async deliver(records: readonly UsageRecord[]): Promise<void> {
    const numbered = records.map((record) => ({
      ...record,
      admitSequence: ++this.#sequence,
      settleSequence: ++this.#sequence,
    }));
    await until(() =>
      this.queue.deliver(numbered, 'gateway-1').then(
        () => true,
        () => false,
      ),
    );
  }

  async asKey(name: string, path: string, body?: unknown) {
    const answer = await fetch(`${this.billing.url}/billing/v1/${path}`, {
      headers: { authorization: `Bearer ${this.keyOf(name)}` },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, type: answer.headers.get('content-type') ?? '', text };
  }
}

async function makeKeys(path: string): Promise<Map<string, string>> {
  const db = await openDatabase({ kind: 'sqlite', path }, () => undefined);
  const access = await SqlAccess.open(db, 'sqlite');
  await Ledger.open(db, 'sqlite');
  for (const id of ['ops', 't', 'u']) await access.createTenant({ id, name: id });
  const keys = new Map<string, string>();
  for (const [name, tenant, scope] of KEYS) {
    const wanted = { tenant, name, scopes: [scope], models: null, expiresAt: null };
    keys.set(name, (await access.createKey(wanted)).secret);
  }
  await db.destroy();
  return keys;
}

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}
