import type { Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { KeyRing, type Principal } from '@turnpike/access';
import { checkRedis } from '@turnpike/metering';
import type { RouterStrategy } from '@turnpike/routing';
import { MetricsServer, registry } from '@turnpike/telemetry';
import type { Server } from 'node:http';
import { isIPv6, type AddressInfo, type Socket } from 'node:net';
import { AppModule } from './app.module.js';
import { Billing } from './billing/billing.js';
import { BackgroundRunner } from './background/background-runner.js';
import { ConfigError } from './config/load.js';
import { engineSchema, modelSchema, type Config } from './config/schema.js';
import { EngineProcess } from './embedded/engine-process.js';
import { admission } from './http/admission.js';
import { ErrorFilter } from './http/error.filter.js';
import { answerForNode } from './http/refused-by-node.js';
import { useOriginForm } from './http/request-target.js';
import { log } from './log.js';
import { NestLogger } from './nest-logger.js';
import { ModelCatalogue, type FoundEngine } from './routing/model-catalogue.js';
import { ROUTER } from './tokens.js';
import { ResponsesWsAdapter } from './websocket/adapter.js';
import { ResponsesGateway } from './websocket/responses.gateway.js';

/** Context of the built-in model, in tokens. */
const SIM_CONTEXT = 1_000_000;

/** What an image costs it: the rule that the built-in engine itself counts by. */
const SIM_IMAGES = { tokens: 'tiles', base: 85, tile: 170, detail: true } as const;

/**
 * Starts everything and says so on stdout once requests are taken.
 * @throws ConfigError when the address cannot be used, or the built-in engine does not take its options
 */
export async function startGateway(
  config: Config,
  simArguments: readonly string[],
  own: readonly Provider[] = [],
): Promise<void> {
  log.level = config.log;
  const engine = servesSim(config) ? await startSim(simArguments) : undefined;
  await requireRedis(config);
  const app = await createGateway(
    engine === undefined ? { ...config, discovery: false } : withSim(config, engine.url),
    own,
  );
  const sockets = socketsOf(app.getHttpServer());
  await app.get(ModelCatalogue).start(sayFound);
  await listen(() => app.listen(config.port, config.host), config);
  const metrics = await serveMetrics(config.metrics);
  app.get(Billing).start();
  app.get(BackgroundRunner).start();
  const { port } = app.getHttpServer().address() as AddressInfo;
  const models = app.get<RouterStrategy>(ROUTER).models();
  const host = isIPv6(config.host) ? `[${config.host}]` : config.host;
  process.stdout.write(
    `turnpike ready on http://${host}:${port}/v1 (models: ${models.join(', ') || 'none yet'})\n`,
  );
  if (engine !== undefined) {
    process.stdout.write(
      "no models are configured: 'sim' is a scripted model that only shows how things work\n",
    );
  }
  const { drainMs } = config.limits;
  stopOnSignal(async () => {
    await close(app, sockets, drainMs);
    await metrics?.close();
    await engine?.stop();
  }, drainMs + LAST_MS);
}

/** @throws ConfigError for a Redis that may throw jobs away; one that is away is waited for */
async function requireRedis({ billing: { redis } }: Config): Promise<void> {
  if (redis === undefined) return;
  try {
    if (!(await checkRedis(redis)))
      log.error('redis cannot be reached; the journal keeps usage until it can');
  } catch (thrown) {
    throw new ConfigError(`billing.redis: ${(thrown as Error).message}`);
  }
}

/** Says on stdout which engine was found on this machine. */
function sayFound({ name, port, models }: FoundEngine): void {
  const shown = models.length === 0 ? 'no model that can be used' : models.join(', ');
  process.stdout.write(`found ${name} on port ${port}: ${shown}\n`);
}

/** @throws ConfigError when the address cannot be used */
async function serveMetrics({ port, host }: Config['metrics']): Promise<MetricsServer | undefined> {
  if (port === undefined) return undefined;
  const server = new MetricsServer(registry);
  const listening = await listen(() => server.listen(port, host), { host, port });
  process.stdout.write(`metrics on http://${isIPv6(host) ? `[${host}]` : host}:${listening}/metrics\n`);
  return server;
}

/** @throws ConfigError when the address cannot be used */
async function listen<T>(begin: () => Promise<T>, { port, host }: Pick<Config, 'port' | 'host'>): Promise<T> {
  try {
    return await begin();
  } catch (thrown) {
    const { code = '' } = thrown as NodeJS.ErrnoException;
    const reason = LISTEN_ERRORS[code];
    if (reason === undefined) throw thrown;
    throw new ConfigError(`Cannot listen on ${host}, port ${port}: ${reason}.`);
  }
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something else listens there (PORT chooses another port)',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not use that port',
  ENOTFOUND: 'there is no such host',
};

/** Every open TCP connection, whatever became of it: Node forgets those that asked to upgrade. */
function socketsOf(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/** How often connections that have become idle are looked for while the server stops, in ms. */
const IDLE_CHECK_MS = 50;

/** How much longer than turns the connections may take, in ms: WebSockets still say goodbye. */
const GRACE_MS = 1_000;

/** When everything is over however far it got, in ms after the turns' deadline. */
const LAST_MS = 5_000;

/** Closes the application once what runs is done: Nest waits for every connection, kept-alive idle ones too. */
async function close(
  app: NestExpressApplication,
  sockets: ReadonlySet<Socket>,
  drainMs: number,
): Promise<void> {
  const server = app.getHttpServer();
  const deadline = performance.now() + drainMs + GRACE_MS;
  const check = setInterval(() => {
    server.closeIdleConnections();
    if (performance.now() >= deadline) for (const socket of sockets) socket.destroy();
  }, IDLE_CHECK_MS);
  try {
    await app.close();
  } finally {
    clearInterval(check);
  }
}

/**
 * The application, listening nowhere yet.
 * @param own providers in the place of the default ones
 */
export async function createGateway(
  config: Config,
  own: readonly Provider[] = [],
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.register(config, own), {
    bodyParser: false,
    // What keeps the server from starting is shown by whoever starts it.
    abortOnError: false,
    logger: new NestLogger(),
  });
  app.disable('x-powered-by');
  app.disable('etag');
  useOriginForm(app.getHttpServer());
  answerForNode(app.getHttpServer());
  app.useGlobalFilters(new ErrorFilter());
  const gateway = app.get(ResponsesGateway);
  const keys = app.get(KeyRing);
  const state = () => ({
    config,
    keys,
    openConnections: gateway.size,
    connectionsOf: (principal: Principal) => gateway.sizeOf(principal),
    draining: gateway.draining,
  });
  app.use(admission(state));
  app.useWebSocketAdapter(new ResponsesWsAdapter(app, state));
  return app;
}

/** Whether the built-in model is served: where nothing says what else is. */
export function servesSim({ engines, models }: Config): boolean {
  return Object.keys(engines).length === 0 && Object.keys(models).length === 0;
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
    engines: {
      sim: engineSchema.parse({
        url,
        kind: 'vllm',
        structuredOutputs: false,
        images: 'content_parts',
        offersListed: false,
      }),
    },
    models: { sim: modelSchema.parse({ engine: 'sim', contextTokens: SIM_CONTEXT, images: SIM_IMAGES }) },
  };
}

/** First signal: drain and end, within `mostMs`. Second: end now. */
function stopOnSignal(stop: () => Promise<void>, mostMs: number): void {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping');
    setTimeout(() => process.exit(1), mostMs);
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
