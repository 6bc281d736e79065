import { listedModels, type ListedModel } from '@turnpike/routing';
import { Agent, request } from 'undici';

/** What an engine made of the question which models it has. */
export type ModelsAnswer =
  | { readonly kind: 'list'; readonly models: readonly ListedModel[] }
  /** It answered, and not with a list. */
  | { readonly kind: 'other'; readonly status: number }
  /** It has no time, or is still loading. */
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  /** It took the connection and did not answer in time. The reason is a code of Node's. */
  | { readonly kind: 'silent'; readonly reason: string }
  /** There was no connection. */
  | { readonly kind: 'unreachable'; readonly reason: string };

/** Bytes of a list that are read. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
const BUSY_MS = 1_000;

/** Asks engines which models they have: `GET /v1/models`, which costs them nothing. It follows no redirect. */
export class ModelsQuestion {
  readonly #agent: Agent;
  readonly #timeoutMs: number;

  /** @param timeoutMs for connecting, and as long again for the answer */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#agent = new Agent({ connect: { timeout: timeoutMs }, keepAliveTimeout: 1 });
  }

  /** @param url base URL of the engine, without `/v1` */
  async ask(
    { url, headers }: { readonly url: string; readonly headers?: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<ModelsAnswer> {
    // Connecting has its own limit: where it is reached, nobody is there.
    const timeout = AbortSignal.timeout(2 * this.#timeoutMs);
    try {
      const answer = await request(`${url.replace(/\/+$/, '')}/v1/models`, {
        dispatcher: this.#agent,
        headers: { accept: 'application/json', ...headers },
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      });
      const text = await readAtMost(answer.body, MAX_LIST_BYTES);
      if (answer.statusCode === 429 || answer.statusCode === 503) {
        const seconds = Number(answer.headers['retry-after']);
        return { kind: 'busy', retryAfterMs: seconds > 0 ? seconds * 1000 : BUSY_MS };
      }
      const status = answer.statusCode;
      const models = status === 200 && text !== undefined ? listedModels(jsonOf(text)) : undefined;
      return models === undefined ? { kind: 'other', status } : { kind: 'list', models };
    } catch (thrown) {
      return { kind: isSilence(thrown) ? 'silent' : 'unreachable', reason: reasonOf(thrown) };
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** A connection was made, and nothing came of it: an engine under load looks like that, too. */
function isSilence(thrown: unknown): boolean {
  const { name, code } = thrown as { name?: string; code?: string };
  return (
    name === 'TimeoutError' || name === 'AbortError' || code === 'UND_ERR_SOCKET' || code === 'ECONNRESET'
  );
}

function reasonOf(thrown: unknown): string {
  const { name, code } = thrown as { name?: string; code?: unknown };
  return typeof code === 'string' ? code : (name ?? 'unknown');
}

async function readAtMost(body: AsyncIterable<unknown>, limit: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    length += (part as Buffer).length;
    if (length > limit) return undefined;
  }
  return Buffer.concat(parts).toString('utf8');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
