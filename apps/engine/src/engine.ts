import 'reflect-metadata';
import { type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { o200kHarmony } from '@turnpike/formats';
import { AppModule } from './app.module.js';
import { type Completions } from './completions.js';
import { CompletionsService } from './completions.service.js';
import { LlamaCompletions } from './llama/llama-completions.js';
import { type LoadedModel, loadModel } from './llama/load-model.js';
import { type NodeLlamaCpp } from './llama/node-llama-cpp.js';
import { type ModelCard } from './model-card.js';
import { SimulatedModel } from './model/simulated-model.js';
import { type Scheduler, systemScheduler } from './pacing.js';
import { DEFAULT_SETTINGS, type EngineSettings, type GgufSettings } from './settings.js';

/** Idle connections stay open longer than a client's pool keeps them, so that the client is the one to close. */
const KEEP_ALIVE_MS = 120_000;

/** An engine that listens. */
export interface RunningEngine {
  readonly url: string;
  /** Stops listening and cuts what still runs. */
  close(): Promise<void>;
}

/**
 * Starts an engine with the simulated model.
 * @throws Error when the script has a mistake or the port cannot be had
 */
export async function startEngine(
  given: Partial<EngineSettings> = {},
  scheduler: Scheduler = systemScheduler,
): Promise<RunningEngine> {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  const model = new SimulatedModel(o200kHarmony(), settings.script);
  return listen(settings, settings, new CompletionsService(settings, model, scheduler));
}

/** An engine with a model of its own file. */
export interface RunningLlama extends RunningEngine {
  readonly loaded: LoadedModel;
}

/**
 * Starts an engine with a model that llama.cpp runs.
 * @throws Error when the model cannot be loaded or the port cannot be had
 */
export async function startLlamaEngine(
  settings: GgufSettings,
  llamaCpp: NodeLlamaCpp,
): Promise<RunningLlama> {
  const loaded = await loadModel(llamaCpp, settings);
  const card = { model: settings.model, context: loaded.contextTokens };
  const engine = await listen(settings, card, new LlamaCompletions(settings.model, loaded));
  return { ...engine, loaded };
}

async function listen(
  where: { readonly host: string; readonly port: number },
  card: ModelCard,
  completions: Completions,
): Promise<RunningEngine> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.register(card, completions), {
    logger: false,
    abortOnError: false,
    bodyParser: false,
    forceCloseConnections: true,
  });
  app.disable('x-powered-by');
  const server: Server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await app.listen(where.port, where.host);
  const { port } = server.address() as AddressInfo;
  const host = where.host.includes(':') ? `[${where.host}]` : where.host;
  return { url: `http://${host}:${port}`, close: () => app.close() };
}
