import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DeadLetters } from '@turnpike/ledger';
import { checkRedis, UnfitRedis } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { log, MetricsServer, registry, shownError } from '@turnpike/telemetry';
import type { NextFunction, Request, Response } from 'express';
import { isIPv6, type AddressInfo } from 'node:net';
import { AppModule } from './app.module.js';
import { showWaiting } from './billing-metrics.js';
import { Actors } from './http/actors.js';
import { answerError, ErrorFilter } from './http/error.filter.js';
import { secure } from './http/security.js';
import { BOARD_PATH, QueueService } from './queue/queue.service.js';
import { SettingsError, type Settings } from './settings.js';

/** How long stopping may take, in ms: a job that is under way is finished. */
const STOP_MS = 30_000;

export interface RunningBilling {
  /** Base URL of the pages and the API. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts the worker and the pages.
 * @throws SettingsError when the database, Redis or an address cannot be used
 */
export async function startBilling(settings: Settings): Promise<RunningBilling> {
  log.level = settings.log;
  await requireRedis(settings);
  const db = await openDatabase(settings.database, (error) =>
    log.warn({ err: error }, 'database connection lost'),
  ).catch((thrown: unknown) => {
    throw new SettingsError(`The database cannot be opened: ${shownError(thrown).message}`);
  });
  const app = await NestFactory.create<NestExpressApplication>(AppModule.register(settings, db), {
    bodyParser: false,
    abortOnError: false,
    logger: ['error', 'warn', 'fatal'],
  });
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(secure);
  const board = app.get(QueueService).board();
  if (board !== undefined) app.use(BOARD_PATH, operatorsOnly(app.get(Actors)), board);
  app.use(onError);
  app.useGlobalFilters(new ErrorFilter());
  try {
    await app.listen(settings.port, settings.host);
  } catch (thrown) {
    throw new SettingsError(
      `Cannot listen on ${settings.host}, port ${settings.port}: ${shownError(thrown).message}`,
    );
  }
  showWaiting({ queue: app.get(QueueService), letters: app.get(DeadLetters) });
  const metrics = await serveMetrics(settings);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const host = isIPv6(settings.host) ? `[${settings.host}]` : settings.host;
  return {
    url: `http://${host}:${port}`,
    async stop() {
      const cut = setTimeout(() => process.exit(1), STOP_MS);
      app.getHttpServer().closeIdleConnections();
      await app.close();
      await metrics?.close();
      await db.destroy();
      clearTimeout(cut);
    },
  };
}

/** Redis that may throw jobs away is none; one that is away for now is waited for. */
async function requireRedis({ redisUrl }: Settings): Promise<void> {
  if (redisUrl === undefined) return;
  try {
    if (!(await checkRedis(redisUrl))) log.warn('Redis cannot be reached yet: the worker begins once it can');
  } catch (thrown) {
    if (thrown instanceof UnfitRedis) throw new SettingsError(`REDIS_URL: ${thrown.message}`);
    throw thrown;
  }
}

async function serveMetrics({ metrics }: Settings): Promise<MetricsServer | undefined> {
  if (metrics === undefined) return undefined;
  const server = new MetricsServer(registry);
  await server.listen(metrics.port, metrics.host);
  return server;
}

/** The board changes the queue for every tenant. */
function operatorsOnly(actors: Actors) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    try {
      actors.ofSession(request, 'operator');
      next();
    } catch (thrown) {
      next(thrown);
    }
  };
}

/** What fails before a route; Express knows it by its four parameters. */
function onError(thrown: unknown, request: Request, response: Response, _next: NextFunction): void {
  answerError(thrown, request, response);
}
