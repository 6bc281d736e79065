import { MemoryConversationStore, MemoryResponseStore } from '@turnpike/conversation';
import { harmony } from '@turnpike/formats';
import type { EngineChunk, EngineClient, GenerateRequest } from '@turnpike/inference';
import type { MeterOptions } from '@turnpike/metering';
import { ApiError, parseRequest, type EventFrame } from '@turnpike/protocol';
import { CatalogueRouter, type Route } from '@turnpike/routing';
import { memoryMeter } from './metering.js';
import { testTurnService } from './turn-service.js';

export const format = harmony();
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
  const store = new MemoryResponseStore(10_000_000);
  const conversations = new MemoryConversationStore(1_000);
  const service = testTurnService({ responses: store, conversations, router, metering: { meter, hold } });
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
