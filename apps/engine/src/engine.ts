import 'reflect-metadata';
import { type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { o200kHarmony } from '@turnpike/formats';
import { AppModule } from './app.module.js';
import { SimulatedModel } from './model/simulated-model.js';
import { type Scheduler, systemScheduler } from './pacing.js';
import { DEFAULT_SETTINGS, type EngineSettings } from './settings.js';

/** Idle connections stay open longer than a client's pool keeps them, so that the client is the one to close. */
const KEEP_ALIVE_MS = 120_000;

/** An engine that listens. */
export interface RunningEngine {
  readonly url: string;
  /** Stops listening and cuts what still runs. */
  close(): Promise<void>;
}

/**
 * Starts an engine.
 * @throws Error when the script has a mistake or the port cannot be had
 */
export async function startEngine(
  given: Partial<EngineSettings> = {},
  scheduler: Scheduler = systemScheduler,
): Promise<RunningEngine> {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  const model = new SimulatedModel(o200kHarmony(), settings.script);
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.register(settings, model, scheduler),
    {
      logger: false,
      abortOnError: false,
      bodyParser: false,
      forceCloseConnections: true,
    },
  );
  app.disable('x-powered-by');
  const server: Server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await app.listen(settings.port, settings.host);
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return { url: `http://${host}:${port}`, close: () => app.close() };
}
