/**
 * A real Redis and a real Postgres for the tests that need them: `await startRedis()`, and `remove()` at the end. Where they
 * come from is decided in scripts/services; a machine that has none fails the test with what to do about it.
 */
export {
  startPostgres,
  startRedis,
  type PostgresService,
  type RedisService,
} from '../../scripts/services.mjs';
