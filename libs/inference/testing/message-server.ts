import { begin, FakeEngine, sse } from './fake-engine.js';

/** One answer of a server that takes messages. */
export interface SaidAnswer {
  /** Events in their order; a string is written as it is. */
  readonly events: readonly unknown[];
  /** True for one that says nothing more, and ends nothing. */
  readonly hangs?: boolean;
}

/** A fake of a server that takes messages and gives text: it says what a test tells it to. */
export class MessageServer {
  readonly #engine: FakeEngine;
  readonly #queue: SaidAnswer[] = [];
  /** Fields of the bodies that it refuses, and what it says of them. */
  readonly refuses = new Map<string, string>();
  closed = 0;

  private constructor(engine: FakeEngine) {
    this.#engine = engine;
  }

  static async start(path: string): Promise<MessageServer> {
    const server: MessageServer = new MessageServer(
      await FakeEngine.start(({ path: asked, body, response, aborted }) => {
        const fields = JSON.parse(body) as Record<string, unknown>;
        const refused = [...server.refuses].find(([field]) => fields[field] !== undefined);
        if (asked !== path || refused !== undefined) {
          response.writeHead(asked === path ? 400 : 404, { 'content-type': 'application/json' });
          response.end(JSON.stringify({ error: { message: refused?.[1] ?? 'no such page' } }));
          return;
        }
        void aborted.then(() => server.closed++);
        const { events, hangs } = server.#queue.shift() ?? { events: [] };
        begin(response);
        for (const event of events) response.write(typeof event === 'string' ? event : sse(event));
        if (hangs !== true) response.end();
      }),
    );
    return server;
  }

  get url(): string {
    return this.#engine.url;
  }

  /** Bodies as they came, as text. */
  get bodies(): string[] {
    return this.#engine.requests.map(({ body }) => body);
  }

  /** Puts the answers to the next requests in order. */
  play(...answers: readonly (readonly unknown[] | SaidAnswer)[]): void {
    this.#queue.push(...answers.map((answer) => ('events' in answer ? answer : { events: answer })));
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }
}

/** An event of `/v1/chat/completions`. */
export const delta = (fields: object, finish: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});

/** Its last events. */
export const usage = (prompt: number, cached: number, completion: number, reasoning: number) => ({
  choices: [],
  usage: {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  },
});
