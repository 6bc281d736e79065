import { Agent, request as send } from 'undici';
import { CircuitBreaker } from './circuit-breaker.js';

export interface GuardHttpOptions {
  /** Base URL of the server. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** How long one request may take, in ms. */
  readonly timeoutMs: number;
  /** Connections at once, which are kept open and used again; further requests wait for one. */
  readonly connections: number;
}

/** No answer of a classifier that could be used: it cannot be reached, fails, is too slow, or says something else. */
export class GuardUnavailable extends Error {
  override readonly name = 'GuardUnavailable';
}

/** Bytes of an answer that are read. */
const MOST_BYTES = 256 * 1024;
const KEEP_ALIVE_MS = 30_000;

/** JSON requests to a classifier: bounded in time and size, over connections that are kept. */
export class GuardHttp {
  readonly #options: GuardHttpOptions;
  readonly #agent: Agent;
  readonly #breaker = new CircuitBreaker();

  constructor(options: GuardHttpOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connections: options.connections,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: options.timeoutMs },
    });
  }

  /** False while the last answers did not come: asking would only take time. */
  get available(): boolean {
    return this.#breaker.closed;
  }

  /**
   * @param read what the answer says
   * @throws GuardUnavailable at once, and not as a rejection, while asking is useless
   */
  post<T>(path: string, body: unknown, read: (answer: unknown) => T): Promise<T> {
    if (!this.#breaker.admit()) throw new GuardUnavailable('The classifier has not answered lately.');
    return this.#post(path, body)
      .then(read)
      .then(
        (answer) => {
          this.#breaker.succeeded();
          return answer;
        },
        (thrown: unknown) => {
          this.#breaker.failed();
          throw thrown;
        },
      );
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #post(path: string, body: unknown): Promise<unknown> {
    const { url, apiKey, timeoutMs } = this.#options;
    const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    try {
      const answer = await send(`${url.replace(/\/+$/, '')}${path}`, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', ...authorization },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const parts: Buffer[] = [];
      let bytes = 0;
      for await (const part of answer.body) {
        const piece = part as Buffer;
        bytes += piece.length;
        if (bytes > MOST_BYTES) throw new GuardUnavailable('The answer of the classifier is too long.');
        parts.push(piece);
      }
      if (answer.statusCode !== 200)
        throw new GuardUnavailable(`The classifier answered with status ${answer.statusCode}.`);
      return JSON.parse(Buffer.concat(parts).toString()) as unknown;
    } catch (thrown) {
      if (thrown instanceof GuardUnavailable) throw thrown;
      throw new GuardUnavailable(`The classifier did not answer: ${reasonOf(thrown)}.`);
    }
  }
}

/** A word for what went wrong; what a parser says could quote the answer. */
function reasonOf(thrown: unknown): string {
  const { code, name } = thrown as { readonly code?: unknown; readonly name?: unknown };
  if (name === 'SyntaxError') return 'no JSON';
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'no reason';
}
