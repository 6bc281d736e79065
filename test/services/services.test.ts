import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { locate, type Machine } from '../../scripts/services.mjs';
import { startPostgres, startRedis } from '../e2e/services.js';

/** A machine with nothing on it, but for what a test gives it. */
class BareMachine implements Machine {
  readonly asked: string[] = [];
  programs: string[] = [];
  root = false;
  runsDocker = false;
  failure = '';
  installs: string[] = [];

  folders = () => ['/bin', '/opt/bin'];
  has = (file: string) => this.programs.includes(file);
  mayInstall = () => this.root;
  docker = () => this.runsDocker;
  install = (name: string) => {
    this.asked.push(name);
    this.programs.push(...this.installs);
    return this.failure;
  };
}

describe('where a service comes from', () => {
  const find = (
    machine: BareMachine,
    environment: Record<string, string> = {},
    name: 'redis' | 'postgres' = 'redis',
  ) => locate(name, { machine, environment });

  it('is what the environment names, before anything else', () => {
    const machine = new BareMachine();
    machine.programs = ['/bin/redis-server'];
    expect(find(machine, { REDIS_URL: 'redis://db:6379' })).toEqual({ url: 'redis://db:6379' });
    expect(find(machine, { REDIS_URL: '' })).toEqual({ folder: '/bin' });
    expect(find(machine, { DATABASE_URL: 'postgres://db/app' }, 'postgres')).toEqual({
      url: 'postgres://db/app',
    });
  });

  it('is a server of its own for a test that ends it', () => {
    const machine = new BareMachine();
    machine.programs = ['/opt/bin/redis-server'];
    expect(locate('redis', { own: true, machine, environment: { REDIS_URL: 'redis://db:6379' } })).toEqual({
      folder: '/opt/bin',
    });
  });

  it('is a folder with all of its programs', () => {
    const machine = new BareMachine();
    machine.programs = ['/bin/postgres', '/opt/bin/postgres', '/opt/bin/initdb'];
    expect(find(machine, {}, 'postgres')).toEqual({ folder: '/opt/bin' });
  });

  it('is the package of the distribution, for root only', () => {
    const machine = new BareMachine();
    machine.installs = ['/bin/redis-server'];
    machine.runsDocker = true;
    expect(find(machine)).toEqual({ image: 'redis:7-bookworm' });
    expect(machine.asked).toEqual([]);
    machine.root = true;
    expect(find(machine)).toEqual({ folder: '/bin' });
    expect(machine.asked).toEqual(['redis-server']);
  });

  it('is an error that says what helps where there is nothing', () => {
    const machine = new BareMachine();
    expect(() => find(machine)).toThrow(
      /^Redis is needed here and was not found\..*\n.*REDIS_URL.*\n.*redis-server.*\n.*Docker$/,
    );
    machine.root = true;
    machine.failure = 'no network';
    expect(() => find(machine, {}, 'postgres')).toThrow(/DATABASE_URL[^]*failed:\nno network$/);
  });
});

describe('a Redis that was started', () => {
  let client: Redis | undefined;
  afterEach(() => client?.disconnect());
  const connect = (url: string, retryStrategy = (times: number): number | null => times * 20) => {
    client?.disconnect();
    client = new Redis(url, { retryStrategy, disconnectTimeout: 100 });
    client.on('error', () => undefined);
    return client;
  };

  it('throws nothing away, keeps what it accepted over a crash, and leaves nothing behind', async () => {
    const redis = await startRedis({ own: true });
    try {
      const first = connect(redis.url);
      expect(await first.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
      expect(await first.config('GET', 'appendonly')).toEqual(['appendonly', 'yes']);
      await first.set('kept', '1');
      await redis.kill();
      await redis.start();
      expect(await connect(redis.url).get('kept')).toBe('1');
      await redis.stop();
      await redis.start();
      expect(await connect(redis.url).get('kept')).toBe('1');
    } finally {
      await redis.remove();
    }
    await expect(connect(redis.url, () => null).ping()).rejects.toThrow();
  });

  it('of others is lent one empty database, and gets it back empty', async () => {
    const shared = await startRedis({ own: true });
    const before = process.env['REDIS_URL'];
    process.env['REDIS_URL'] = shared.url;
    try {
      await connect(shared.url).set('theirs', '1');
      const [one, two] = [await startRedis(), await startRedis()];
      expect(new Set([one.url, two.url, shared.url]).size).toBe(3);
      await expect(one.kill()).rejects.toThrow('others use');
      await connect(one.url).set('ours', '1');
      await one.remove();
      await two.remove();
      expect(await connect(one.url).dbsize()).toBe(0);
      expect(await connect(shared.url).get('theirs')).toBe('1');
    } finally {
      if (before === undefined) delete process.env['REDIS_URL'];
      else process.env['REDIS_URL'] = before;
      await shared.remove();
    }
  });
});

describe('a Postgres that was started', () => {
  const query = async (url: string, text: string) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };

  it('keeps what it committed over a crash; one of others loses the databases that were made in it', async () => {
    const postgres = await startPostgres({ own: true });
    const before = process.env['DATABASE_URL'];
    try {
      const url = await postgres.database();
      await query(url, 'create table kept as select 1 as value');
      await postgres.kill();
      await postgres.start();
      expect(await query(url, 'select value from kept')).toEqual([{ value: 1 }]);

      process.env['DATABASE_URL'] = url;
      const lent = await startPostgres();
      const inside = await lent.database();
      expect(await query(inside, 'select 1 as one')).toEqual([{ one: 1 }]);
      await lent.remove();
      await expect(query(inside, 'select 1')).rejects.toThrow('does not exist');
      expect(await query(url, 'select value from kept')).toEqual([{ value: 1 }]);
    } finally {
      if (before === undefined) delete process.env['DATABASE_URL'];
      else process.env['DATABASE_URL'] = before;
      await postgres.remove();
    }
  });
});
