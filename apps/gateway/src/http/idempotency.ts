import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '@turnpike/protocol';

/** What a request with a key was answered with. */
export type KeptAnswer =
  | { readonly kind: 'json' | 'events'; readonly id: string; readonly text: string }
  /** Followed by its id, from its first event. */
  | { readonly kind: 'background'; readonly id: string };

/** One request that is the first with its key. Ended once, by either. */
export interface Claim {
  /** The answer is there, for all who ask again. */
  keep(answer: KeptAnswer): void;
  /** Nothing came of it: the key is free again. */
  release(): void;
}

interface Entry {
  readonly digest: string;
  readonly tenant: string;
  /** Resolves when it has an answer, or is gone. */
  readonly ended: Promise<void>;
  answer?: KeptAnswer;
  /** When it is forgotten, once it has an answer. */
  until: number;
}

export interface IdempotencyOptions {
  /** Answers kept of one tenant. */
  readonly perTenant: number;
  /** Characters of all answers together. */
  readonly characters: number;
  readonly ttlMs: number;
  readonly now?: () => number;
}

const DEFAULTS: IdempotencyOptions = {
  perTenant: 1_000,
  characters: 64 * 1024 * 1024,
  ttlMs: 24 * 60 * 60 * 1_000,
};
const KEY = /^[\x21-\x7e]{1,255}$/;

/** The `Idempotency-Key` of a request. @throws ApiError when it is none that is taken */
export function idempotencyKeyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new ApiError('invalid_value', {
    param: 'Idempotency-Key',
    message: "'Idempotency-Key' has to be 1 to 255 visible ASCII characters.",
  });
}

/**
 * One generation for all requests of a tenant with the same key and body. Answers are kept in memory alone, those of
 * `store: false` among them: nothing of them survives the process.
 */
export class IdempotentAnswers {
  readonly #options: IdempotencyOptions;
  readonly #now: () => number;
  /** In the order in which they were begun. */
  readonly #entries = new Map<string, Entry>();
  readonly #perTenant = new Map<string, number>();
  #characters = 0;

  constructor(options: IdempotencyOptions = DEFAULTS) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Waits for a request with the same key that is being answered.
   * @param body as the client sent it
   * @throws ApiError idempotency_key_reused for a key that another body was sent with
   */
  async claim(tenant: string, key: string, body: string): Promise<Claim | KeptAnswer> {
    const name = JSON.stringify([tenant, key]);
    const digest = createHash('sha256').update(body).digest('base64');
    for (;;) {
      const entry = this.#find(name);
      if (entry === undefined) return this.#begin(name, tenant, digest);
      if (entry.digest !== digest) throw new ApiError('idempotency_key_reused', { param: 'Idempotency-Key' });
      if (entry.answer !== undefined) return entry.answer;
      await entry.ended;
    }
  }

  /** The answers that hold this response are not given any more. */
  forget(tenant: string, id: string): void {
    for (const [name, entry] of this.#entries) {
      if (entry.tenant === tenant && entry.answer?.id === id) this.#drop(name, entry);
    }
  }

  #find(name: string): Entry | undefined {
    const entry = this.#entries.get(name);
    if (entry === undefined || entry.until > this.#now()) return entry;
    this.#drop(name, entry);
    return undefined;
  }

  #begin(name: string, tenant: string, digest: string): Claim {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const entry: Entry = { digest, tenant, ended, until: Infinity };
    this.#entries.set(name, entry);
    this.#perTenant.set(tenant, (this.#perTenant.get(tenant) ?? 0) + 1);
    this.#bound(tenant);
    return {
      keep: (answer) => {
        entry.answer = answer;
        entry.until = this.#now() + this.#options.ttlMs;
        this.#characters += lengthOf(entry);
        this.#bound();
        end();
      },
      release: () => {
        if (entry.answer !== undefined || this.#entries.get(name) !== entry) return;
        this.#drop(name, entry);
        end();
      },
    };
  }

  /** The oldest answers make room; what is being answered is not forgotten. */
  #bound(tenant?: string): void {
    const { characters, perTenant } = this.#options;
    const isOver = () =>
      tenant === undefined ? this.#characters > characters : (this.#perTenant.get(tenant) ?? 0) > perTenant;
    if (!isOver()) return;
    for (const [name, entry] of this.#entries) {
      if (entry.answer === undefined || (tenant ?? entry.tenant) !== entry.tenant) continue;
      this.#drop(name, entry);
      if (!isOver()) return;
    }
  }

  #drop(name: string, entry: Entry): void {
    this.#entries.delete(name);
    this.#characters -= lengthOf(entry);
    const left = (this.#perTenant.get(entry.tenant) ?? 1) - 1;
    if (left === 0) this.#perTenant.delete(entry.tenant);
    else this.#perTenant.set(entry.tenant, left);
  }
}

function lengthOf({ answer }: Entry): number {
  return answer === undefined || answer.kind === 'background' ? 0 : answer.text.length;
}
