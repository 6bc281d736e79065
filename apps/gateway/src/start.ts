import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { KeyRing } from '@turnpike/access';
import type { AddressInfo } from 'node:net';
import { AppModule } from './app.module.js';
import type { Config } from './config/schema.js';
import { EngineProcess } from './embedded/engine-process.js';
import { ErrorFilter } from './http/error.filter.js';
import { log } from './log.js';
import { ResponsesWsAdapter } from './websocket/adapter.js';
import { ResponsesGateway } from './websocket/responses.gateway.js';

/** Context of the built-in model, in tokens. */
const SIM_CONTEXT = 1_000_000;

/** Starts everything and says so on stdout once requests are taken. */
export async function startGateway(config: Config, simArguments: readonly string[]): Promise<void> {
  log.level = config.log;
  const engine = Object.keys(config.models).length === 0 ? await startSim(simArguments) : undefined;
  const app = await createGateway(engine === undefined ? config : withSim(config, engine.url));
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  const models = engine === undefined ? Object.keys(config.models) : ['sim'];
  process.stdout.write(`turnpike ready on http://${config.host}:${port}/v1 (models: ${models.join(', ')})\n`);
  if (engine !== undefined) {
    process.stdout.write(
      "no engine is configured: 'sim' is a scripted model that only shows how things work\n",
    );
  }
  stopOnSignal(async () => {
    await close(app, config.limits.drainMs);
    await engine?.stop();
  });
}

/** How often connections that have become idle are looked for while the server stops, in ms. */
const IDLE_CHECK_MS = 50;

/** Closes the application once what runs is done: Nest waits for every connection, kept-alive idle ones too. */
async function close(app: NestExpressApplication, drainMs: number): Promise<void> {
  const server = app.getHttpServer();
  const idle = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const deadline = setTimeout(() => server.closeAllConnections(), drainMs);
  try {
    await app.close();
  } finally {
    clearInterval(idle);
    clearTimeout(deadline);
  }
}

/** The application, listening nowhere yet. */
export async function createGateway(config: Config): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.register(config), {
    bodyParser: false,
    // What keeps the server from starting is shown by whoever starts it.
    abortOnError: false,
    logger: ['error', 'warn', 'fatal'],
  });
  app.disable('x-powered-by');
  app.disable('etag');
  app.useGlobalFilters(new ErrorFilter());
  const gateway = app.get(ResponsesGateway);
  const keys = app.get(KeyRing);
  app.useWebSocketAdapter(
    new ResponsesWsAdapter(app, () => ({
      config,
      keys,
      openConnections: gateway.size,
      draining: gateway.draining,
    })),
  );
  return app;
}

function startSim(simArguments: readonly string[]): Promise<EngineProcess> {
  return EngineProcess.start(
    ['--model', 'sim', '--context', String(SIM_CONTEXT), ...simArguments],
    (code) => {
      log.fatal({ code }, 'the built-in engine ended');
      process.exit(1);
    },
  );
}

function withSim(config: Config, url: string): Config {
  return {
    ...config,
    engines: { sim: { url, idleTimeoutMs: 600_000, structuredOutputs: 'none' } },
    models: { sim: { engine: 'sim', format: 'harmony', contextTokens: SIM_CONTEXT } },
  };
}

/** First signal: drain and end. Second: end now. */
function stopOnSignal(stop: () => Promise<void>): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping');
    stop().then(
      () => process.exit(0),
      (thrown: unknown) => {
        log.error({ err: thrown }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
