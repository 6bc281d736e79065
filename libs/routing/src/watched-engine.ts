import type {
  EngineCapabilities,
  EngineChunk,
  EngineClient,
  GenerateRequest,
  MessageChunk,
  MessageRequest,
} from '@turnpike/inference';
import { ApiError, type ErrorCode } from '@turnpike/protocol';
import {
  healthAfter,
  NEW_HEALTH,
  standingOf,
  type Health,
  type HealthEvent,
  type Standing,
} from './health.js';

/** What became of a request to an engine. `refused` says something of the request, `cancelled` of its client. */
export type Outcome = 'answered' | 'failed' | 'unreachable' | 'overloaded' | 'refused' | 'cancelled';

export interface WatchedEngineOptions {
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
  /** Told once of each request, when it is over. */
  readonly onOutcome?: (outcome: Outcome) => void;
  /** Told of each move of the circuit. */
  readonly onCircuit?: (circuit: Health['circuit']) => void;
  /** Told when a request finds the engine not as it was known: it cannot be reached, or does not have the model. */
  readonly onDoubt?: () => void;
}

/** An engine whose requests tell how it is. */
export class WatchedEngine implements Required<EngineClient> {
  readonly #engine: EngineClient;
  readonly #options: WatchedEngineOptions;
  #health = NEW_HEALTH;
  #load = 0;

  constructor(engine: EngineClient, options: WatchedEngineOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  get name(): string {
    return this.#engine.name;
  }

  get takesImages(): boolean {
    return this.#engine.takesImages ?? false;
  }

  capabilities(signal?: AbortSignal): Promise<EngineCapabilities> {
    return this.#engine.capabilities(signal);
  }

  /** Requests that are under way. */
  get load(): number {
    return this.#load;
  }

  get standing(): Standing {
    return standingOf(this.#health, this.#options.now());
  }

  /** Until the circuit lets a request through, in ms; 0 when it does. */
  get waitMs(): number {
    const { circuit, retryAt } = this.#health;
    return circuit === 'closed' ? 0 : Math.max(0, retryAt - this.#options.now());
  }

  /** Takes in what was learnt of the engine: here of its requests, from outside by asking after it. */
  learn(event: HealthEvent): void {
    const before = this.#health.circuit;
    this.#health = healthAfter(this.#health, event, this.#options.now());
    if (this.#health.circuit !== before) this.#options.onCircuit?.(this.#health.circuit);
  }

  generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
    return this.#watched(() => this.#engine.generate(request, signal), signal);
  }

  /** @throws ApiError engine_error for an engine that takes no messages */
  converse(request: MessageRequest, signal: AbortSignal): AsyncGenerator<MessageChunk> {
    return this.#watched(() => {
      if (this.#engine.converse !== undefined) return this.#engine.converse(request, signal);
      throw new ApiError('engine_error', { cause: new Error(`engine '${this.name}' takes no messages`) });
    }, signal);
  }

  async *#watched<Chunk>(start: () => AsyncIterable<Chunk>, signal: AbortSignal): AsyncGenerator<Chunk> {
    let begun = false;
    let outcome: Outcome = 'cancelled';
    let failure: unknown;
    this.#load += 1;
    this.learn({ kind: 'tried' });
    try {
      for await (const chunk of start()) {
        if (!begun) this.learn({ kind: 'begun' });
        begun = true;
        outcome = 'answered';
        yield chunk;
      }
      outcome = 'answered';
    } catch (thrown) {
      outcome = signal.aborted ? 'cancelled' : outcomeOf(thrown);
      failure = thrown;
      throw thrown;
    } finally {
      const event = eventOf(outcome, failure);
      if (event !== undefined) this.learn(event);
      if (outcome !== 'cancelled' && isDoubt(failure)) this.#options.onDoubt?.();
      this.#load -= 1;
      this.#options.onOutcome?.(outcome);
    }
  }

  reprobe(): void {
    this.#engine.reprobe?.();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/** Answers that say nothing against the engine. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['engine_refused', 'engine_lacks_model']);
/** What says that the engine, or what it serves, is not as it was. */
const DOUBTS: ReadonlySet<ErrorCode> = new Set(['engine_unavailable', 'engine_lacks_model']);

function isDoubt(thrown: unknown): boolean {
  return thrown instanceof ApiError && DOUBTS.has(thrown.code);
}

function outcomeOf(thrown: unknown): Outcome {
  if (!(thrown instanceof ApiError)) return 'failed';
  if (thrown.code === 'engine_unavailable') return 'unreachable';
  if (thrown.code === 'server_is_overloaded') return 'overloaded';
  return REFUSALS.has(thrown.code) || thrown.status < 500 ? 'refused' : 'failed';
}

/** What an outcome says of the engine. */
function eventOf(outcome: Outcome, thrown: unknown): HealthEvent | undefined {
  switch (outcome) {
    case 'cancelled':
      return undefined;
    case 'refused':
      return { kind: 'answered' };
    case 'overloaded': {
      const seconds = thrown instanceof ApiError ? thrown.retryAfter : undefined;
      return { kind: 'overloaded', retryAfterMs: (seconds ?? 1) * 1000 };
    }
    case 'answered':
    case 'failed':
    case 'unreachable':
      return { kind: outcome };
  }
}
