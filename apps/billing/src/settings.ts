import type { DatabaseTarget } from '@turnpike/storage';
import { z } from 'zod';

/** Settings that cannot be used; the message says what to change. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

const port = z.coerce.number().int().min(0).max(65_535);

const environmentSchema = z.object({
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be a postgres URL: postgres://user:password@host/database',
    })
    .optional(),
  DATABASE_PATH: z.string().min(1).default('data/turnpike.db'),
  REDIS_URL: z.url({ protocol: /^rediss?$/, error: 'must be a redis URL: redis://host:6379' }).optional(),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: port.default(8687),
  METRICS_PORT: port.optional(),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

export interface Settings {
  readonly database: DatabaseTarget;
  /** Undefined without a queue: gateways then write to the ledger themselves. */
  readonly redisUrl: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
  readonly log: z.output<typeof environmentSchema>['LOG_LEVEL'];
}

/** @throws SettingsError naming every variable at fault */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  // A variable that is set to nothing is not set.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = environmentSchema.safeParse(given);
  if (!result.success) {
    const faults = result.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
    throw new SettingsError(`The environment is not valid:\n${faults.join('\n')}`);
  }
  const { DATABASE_URL, DATABASE_PATH, REDIS_URL, METRICS_PORT, METRICS_HOST, ...rest } = result.data;
  return {
    database:
      DATABASE_URL === undefined
        ? { kind: 'sqlite', path: DATABASE_PATH }
        : { kind: 'postgres', url: DATABASE_URL },
    redisUrl: REDIS_URL,
    host: rest.HOST,
    port: rest.PORT,
    metrics: METRICS_PORT === undefined ? undefined : { host: METRICS_HOST, port: METRICS_PORT },
    log: rest.LOG_LEVEL,
  };
}

export const HELP = `turnpike billing - the worker between the queue and the ledger, and the pages for who looks after bills

Usage: npm run start:billing

Environment:
  DATABASE_URL    postgres URL of the gateways' database
  DATABASE_PATH   without DATABASE_URL: their SQLite file (data/turnpike.db)
  REDIS_URL       of the queue; without it gateways write to the ledger themselves, and there is no queue to work on
  PORT            port of the pages and the API (8687)
  HOST            address to bind to (127.0.0.1)
  METRICS_PORT    port for Prometheus; without it there is none
  METRICS_HOST    its address (127.0.0.1)
  LOG_LEVEL       debug, info, warn, error or silent (info)

Pages and API are for keys with the scope 'billing' (their tenant) or 'operator' (everything); npm run admin makes them.
`;
