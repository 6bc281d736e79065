import { ApiError } from '@turnpike/protocol';
import {
  createEngine,
  type EngineChunk,
  type EngineClient,
  type EngineOptions,
  type GenerateRequest,
} from '../src/index.js';
import { FakeEngine, begin, type SeenRequest } from './fake-engine.js';
import { PlayedEngine, type EngineApi } from './played-engine.js';

export const REQUEST: GenerateRequest = {
  model: 'openai/gpt-oss-20b',
  prompt: {
    length: 5,
    json: [Buffer.from('['), Buffer.from('1,20,'), Buffer.from('300,4,'), Buffer.from('5]')],
  },
  maxTokens: 40,
  stopIds: [200002, 200012],
  temperature: 0.5,
  topP: 0.9,
};
export const NEVER = new AbortController().signal;

const cleanup: (() => Promise<void>)[] = [];
/** Something that is to be closed with what the test opened. */
export function onCleanUp(step: () => Promise<void>): void {
  cleanup.push(step);
}

/** Closes what the test opened; for `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const step of cleanup.splice(0).reverse()) await step();
}

export function clientFor(url: string, options: Partial<EngineOptions> = {}): EngineClient {
  const client = createEngine({ name: 'local', url, kind: 'vllm', idleTimeoutMs: 60_000, ...options });
  cleanup.push(() => client.close());
  return client;
}

export async function setUp(
  answer: (seen: SeenRequest) => void | Promise<void>,
  options: Partial<EngineOptions> = {},
) {
  const engine = await FakeEngine.start(answer);
  cleanup.push(() => engine.stop());
  return { engine, client: clientFor(engine.url, options) };
}

/** A client of an engine that answers with these events, each write on its own. */
export function answering(...writes: string[]) {
  return setUp(({ response }) => {
    begin(response);
    for (const text of writes) response.write(text);
    response.end();
  });
}

/** What came before the end, and the error it ended with. */
export async function drain(client: EngineClient, request = REQUEST, signal = NEVER) {
  const chunks: EngineChunk[] = [];
  try {
    for await (const chunk of client.generate(request, signal)) chunks.push(chunk);
  } catch (thrown) {
    return { chunks, error: thrown };
  }
  return { chunks, error: undefined };
}

export const idsOf = (chunks: readonly EngineChunk[]) => chunks.flatMap(({ ids }) => ids);
export const codeOf = (error: unknown) => (error instanceof ApiError ? error.code : error);

/** A client of a fake of one kind of server. */
export async function setUpPlayed(api: EngineApi, kind: EngineOptions['kind'] = 'auto') {
  const engine = await PlayedEngine.start(api);
  cleanup.push(() => engine.stop());
  return { engine, client: clientFor(engine.url, { kind }) };
}
