import { MemoryConversationStore, MemoryResponseStore } from '@turnpike/conversation';
import { harmony, TokenEncoder } from '@turnpike/formats';
import { ImageLoader, ImagesStage } from '@turnpike/images';
import type { EngineChunk, EngineClient, GenerateRequest } from '@turnpike/inference';
import type { MeterOptions } from '@turnpike/metering';
import { ApiError, parseRequest, type EventFrame } from '@turnpike/protocol';
import { RenderingStage } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage, type Route } from '@turnpike/routing';
import { Sealer } from '@turnpike/sealing';
import { ValidationStage } from '@turnpike/validation';
import { configSchema } from '../src/config/schema.js';
import { stageList } from '../src/stages.js';
import { TurnService } from '../src/turn/turn.service.js';
import { memoryMeter } from './metering.js';
import { testSafety } from './safety.js';

export const format = harmony();
const encoder = new TokenEncoder(format.tokenizer);
export const sealer = new Sealer([Buffer.alloc(32, 1)]);
/** Ids of a text. */
export const text = (words: string) => [...format.tokenizer.encode(words)];

const THOUGHT = [200005, ...text('analysis'), 200008, ...text('hm'), 200007, 200006, ...text('assistant')];
/** A whole answer, after some reasoning. */
export const ANSWER: EngineChunk = {
  ids: [...THOUGHT, 200005, ...text('final'), 200008, ...text('hi'), 200002],
  finish: 'stop',
};
/** The beginning of an answer. */
export const BEGINNING: EngineChunk = { ids: [200005, ...text('final'), 200008, ...text('hal')] };

/** An engine that gives these chunks and then fails, with the requests it got. */
export function engineOf(name: string, chunks: readonly EngineChunk[], failure?: ApiError) {
  const requests: GenerateRequest[] = [];
  const engine: EngineClient = {
    name,
    capabilities: () => Promise.reject(new ApiError('engine_unavailable')),
    async *generate(request) {
      requests.push(request);
      yield* chunks;
      if (failure !== undefined) throw failure;
    },
    close: () => Promise.resolve(),
  };
  return { engine, requests };
}

/** A service whose model has these routes, each of them standing in for those before it. */
export function serviceOf(...routes: readonly (Partial<Route> & Pick<Route, 'engine'>)[]) {
  return meteredService({}, ...routes);
}

/** The same with a meter of the test's own, and what it has written down. */
export function meteredService(
  options: Partial<MeterOptions>,
  ...routes: readonly (Partial<Route> & Pick<Route, 'engine'>)[]
) {
  const router = new CatalogueRouter();
  const tiers = routes.map((route) => [
    { route: { model: 'm', engineModel: 'm', format, contextTokens: 10_000, ...route }, weight: 1 },
  ]);
  router.replace([{ name: 'm', tiers }]);
  const { meter, hold, records } = memoryMeter(options);
  const { safety, gate } = testSafety();
  const stages = stageList({
    safety,
    hold,
    validation: new ValidationStage(),
    routing: new RoutingStage(router),
    images: new ImagesStage({ routeToken: Routing, loader: new ImageLoader({ maxBytes: 1_000 }) }),
    rendering: new RenderingStage({
      formatToken: Routing,
      encoder: () => encoder,
      today: () => '2026-01-31',
    }),
  });
  const store = new MemoryResponseStore(1_000_000);
  const conversations = new MemoryConversationStore(1_000);
  const config = configSchema.parse({});
  const service = new TurnService(stages, store, conversations, sealer, gate, meter, config, router);
  const signal = new AbortController().signal;
  const requestOf = (body: Record<string, unknown>) =>
    parseRequest({ model: 'm', input: 'x', ...body }, 'http');
  const run = async (body: Record<string, unknown> = {}) => {
    const frames: EventFrame[] = [];
    const sink = {
      send: (batch: readonly EventFrame[]) => void frames.push(...batch),
      ready: () => undefined,
    };
    const { response } = await service.run({ request: requestOf(body), tenant: 't', key: 'k', sink, signal });
    return { response, types: frames.map(({ type }) => type) };
  };
  const compact = () => service.compact(requestOf({}), { tenant: 't', key: 'k' }, signal);
  return { run, store, compact, records };
}
