// Turns whose usage goes through Redis into Postgres, beside the same with both of them down.
import { startPostgres, startRedis } from '../../scripts/services.mjs';

/**
 * Two gateways, each with a Redis, a Postgres and a worker of its own.
 * @returns `cutOff()` kills the services of the second; `remove()` ends all services
 * @throws Error saying what helps where there is no Redis or no Postgres
 */
export async function startQueuedPair(processes) {
  const services = [];
  const startServices = async () => {
    const redis = await startRedis({ own: true });
    services.push(redis);
    const postgres = await startPostgres({ own: true });
    services.push(postgres);
    return { redis, postgres };
  };
  const remove = () => Promise.all(services.map((each) => each.remove()));
  const startGateway = async (name, { redis, postgres }) =>
    processes.startQueued(name, { REDIS_URL: redis.url, DATABASE_URL: await postgres.database() });
  try {
    const lasting = await startServices();
    const doomed = await startServices();
    return {
      queued: await startGateway('queued', lasting),
      outage: await startGateway('outage', doomed),
      cutOff: () => Promise.all([doomed.redis.kill(), doomed.postgres.kill()]),
      remove,
    };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}
