import { setTimeout } from 'node:timers/promises';
import { begin, FakeEngine, type SeenRequest } from './fake-engine.js';

/** One output that a fake engine samples. */
export interface Played {
  readonly ids: readonly number[];
  /** Why it ends; null for a stream that just stops. By default `stop`. */
  readonly finish?: 'stop' | 'length' | 'abort' | null;
  /** True for an engine that says nothing more behind these ids, and ends nothing. */
  readonly hangs?: boolean;
}

/** A request as a fake engine got it. */
export interface Call {
  readonly body: Readonly<Record<string, unknown>>;
  readonly prompt: readonly number[];
  readonly played: Played;
  /** Tokens of the prompt that it has seen before. */
  readonly cached: number;
}

/** What is particular about one kind of server. */
export interface EngineApi {
  readonly path: string;
  /** The field of the body with the prompt. */
  readonly promptField: string;
  /** Path of the request that ends another. */
  readonly abortPath?: string;
  /** Who owns its models, by its own list. */
  readonly owner: string;
  /** What is there for GET beside its list of models. */
  readonly pages?: Readonly<Record<string, unknown>>;
  /** Why it refuses a body; undefined for one that it takes. */
  refuse?(body: Readonly<Record<string, unknown>>): unknown;
  /** Its stream, one write each. */
  stream(call: Call): Iterable<string>;
}

/** A fake of one kind of server: it plays the outputs that a test gives it, as that kind would send them. */
export class PlayedEngine {
  readonly #engine: FakeEngine;
  readonly #queue: Played[] = [];
  /** Everything that is in its prefix cache. */
  readonly #known: (readonly number[])[] = [];
  /** Prompts in the order in which they came, each with the cached part. */
  readonly calls: Call[] = [];
  /** Requests that were ended by another. */
  readonly aborts: unknown[] = [];
  /** Ends of connections whose answers were not finished. */
  closed = 0;

  private constructor(engine: FakeEngine) {
    this.#engine = engine;
  }

  static async start(api: EngineApi): Promise<PlayedEngine> {
    const played: PlayedEngine = new PlayedEngine(await FakeEngine.start((seen) => played.answer(api, seen)));
    const models = { object: 'list', data: [{ id: 'm', object: 'model', owned_by: api.owner }] };
    for (const [path, page] of Object.entries({ '/v1/models': models, ...api.pages }))
      played.#engine.pages.set(path, page);
    return played;
  }

  get url(): string {
    return this.#engine.url;
  }

  /** Puts the outputs of the next requests in order. */
  play(...outputs: readonly Played[]): void {
    this.#queue.push(...outputs);
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }

  private async answer(api: EngineApi, { path, body: text, response, aborted }: SeenRequest): Promise<void> {
    const body = JSON.parse(text) as Record<string, unknown>;
    if (path === api.abortPath) {
      this.aborts.push(body);
      response.end('{}');
      return;
    }
    const refusal = path === api.path ? api.refuse?.(body) : { message: `there is no ${path}` };
    if (refusal !== undefined) {
      response.writeHead(path === api.path ? 400 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refusal));
      return;
    }
    void aborted.then(() => this.closed++);
    const prompt = body[api.promptField] as number[];
    const played = this.#queue.shift() ?? { ids: [], finish: 'abort' };
    const cached = Math.max(0, ...this.#known.map((known) => commonPrefix(known, prompt)));
    this.#known.push([...prompt, ...played.ids]);
    const call = { body, prompt, played, cached };
    this.calls.push(call);
    begin(response);
    for (const write of api.stream(call)) {
      response.write(write);
      await setTimeout(1);
    }
    if (played.hangs !== true) response.end();
  }
}

function commonPrefix(a: readonly number[], b: readonly number[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
