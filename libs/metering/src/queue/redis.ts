import { Redis } from 'ioredis';

/** A Redis that cannot hold what is to be billed, however long it is waited for. */
export class UnfitRedis extends Error {
  override readonly name: string = 'UnfitRedis';
}

/** It is set up so that it may throw jobs away. */
export class EvictionError extends UnfitRedis {
  override readonly name = 'EvictionError';
}

/** What Redis says to who has no password, a wrong one, or no rights. */
const DENIED = /^(NOAUTH|WRONGPASS|NOPERM)\b/;

/** How long one command may take before the batch counts as not delivered, in ms. */
const COMMAND_MS = 5_000;
const CONNECT_MS = 5_000;
/** How long a connection may take to close; ioredis waits as long for one that is closed already, and so does our process. */
const DISCONNECT_MS = 100;

/**
 * A server that was demoted keeps its connections, and takes nothing any more: the address leads to the new master by then,
 * or will soon.
 */
const reconnectOnError = ({ message }: Error): boolean => message.includes('READONLY');

/** For who adds jobs: fails at once while Redis is away, and keeps nothing in memory. */
export const PRODUCER = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: COMMAND_MS,
  connectTimeout: CONNECT_MS,
  disconnectTimeout: DISCONNECT_MS,
  reconnectOnError,
};

/** For who waits for jobs: however long that takes, and however long Redis is away. */
export const CONSUMER = {
  maxRetriesPerRequest: null,
  connectTimeout: CONNECT_MS,
  disconnectTimeout: DISCONNECT_MS,
  reconnectOnError,
};

/** @param onError called for every error of the connection, which goes on trying */
export function connect(
  url: string,
  options: typeof PRODUCER | typeof CONSUMER,
  onError: (error: Error) => void,
): Redis {
  const redis = new Redis(url, options);
  redis.on('error', onError);
  return redis;
}

/** @throws EvictionError unless it is set up to keep what it is given */
export async function requireNoEviction(redis: Redis): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1];
  if (policy === 'noeviction') return;
  throw new EvictionError(
    `Redis has maxmemory-policy ${policy ?? 'unknown'}: with anything but noeviction it may throw away what is to be billed`,
  );
}

/**
 * Looks at Redis before it is relied on.
 * @returns false when it cannot be reached: that is no reason not to start
 * @throws UnfitRedis for one that is not let into, or may throw jobs away
 */
export async function checkRedis(url: string): Promise<boolean> {
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: DISCONNECT_MS,
    retryStrategy: () => null,
  });
  let failure: Error | undefined;
  redis.on('error', (error: Error) => (failure = error));
  try {
    await redis.connect();
    await requireNoEviction(redis);
    return true;
  } catch (thrown) {
    if (thrown instanceof UnfitRedis) throw thrown;
    const denial = [failure, thrown as Error].find((each) => DENIED.test(each?.message ?? ''));
    if (denial !== undefined) throw new UnfitRedis(`Redis lets nobody in: ${denial.message}`);
    return false;
  } finally {
    redis.disconnect();
  }
}
