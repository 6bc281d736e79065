import type { ListedModel, WatchedEngine } from '@turnpike/routing';
import type { ModelsAnswer, ModelsQuestion } from './ask-models.js';
import { Repeating } from './repeating.js';

export interface LookoutOptions {
  /** Base URL, without `/v1`. */
  readonly url: string;
  /** Of each question. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly question: Pick<ModelsQuestion, 'ask'>;
  /** The engine there; undefined where there may be none. */
  readonly engine?: WatchedEngine | undefined;
  /** Makes what was found there an engine; undefined when it is none that can be used. */
  readonly onFound: (models: readonly ListedModel[]) => WatchedEngine | undefined;
  /** Told whenever the engine says which models it has. */
  readonly onListed: (engine: WatchedEngine, models: readonly ListedModel[]) => void;
  /** Told when there is another answer than a list, once for as long as it stays the same. */
  readonly onUnlisted: (answer: Unlisted) => void;
}

/** What is no list of models. */
export type Unlisted = Exclude<ModelsAnswer, { readonly kind: 'list' }>;

/** How often an engine is asked that answers, and one that did not answer the last time, in ms. */
const STEADY_MS = 15_000;
const UNSURE_MS = 2_000;
/** How soon an engine is asked of which a request has found that it is not as it was known, in ms. */
const DOUBTED_MS = 1_000;
/** How often a place is looked at where nothing was found, at first and at most: each time in vain doubles it. */
const FIRST_LOOK_MS = 2_000;
const LONGEST_LOOK_MS = 30_000;
/** Behind the moment at which a circuit lets a request through, so that the question is the one that finds out. */
const MARGIN_MS = 10;

/** Watches one place: finds the engine there, hears which models it has, and learns how it is. */
export class Lookout {
  readonly #options: LookoutOptions;
  readonly #stopped = new AbortController();
  readonly #repeating = new Repeating(() => this.look());
  #engine: WatchedEngine | undefined;
  #inVain = 0;
  /** The last answer, if that was no list. */
  #unlisted: string | undefined;

  constructor(options: LookoutOptions) {
    this.#options = options;
    this.#engine = options.engine;
  }

  /** Looks for the first time; goes on by itself. */
  start(): Promise<void> {
    return this.#repeating.start();
  }

  stop(): void {
    this.#repeating.stop();
    this.#stopped.abort();
  }

  /** A request has found the engine not as it was known: it is asked soon, once its circuit lets a request through. */
  doubt(): void {
    this.#repeating.within(Math.max(DOUBTED_MS, (this.#engine?.waitMs ?? 0) + MARGIN_MS));
  }

  /** Looks once; gives the time until it should again, in ms. */
  async look(): Promise<number> {
    const { question, onFound, onListed } = this.#options;
    const answer = await question.ask(this.#options, this.#stopped.signal);
    if (this.#stopped.signal.aborted) return STEADY_MS;
    this.#tell(answer);
    if (answer.kind === 'list') this.#engine ??= onFound(answer.models);
    const engine = this.#engine;
    if (engine === undefined) {
      this.#inVain += 1;
      return Math.min(FIRST_LOOK_MS * 2 ** (this.#inVain - 1), LONGEST_LOOK_MS);
    }
    learn(engine, answer);
    if (answer.kind === 'list') onListed(engine, answer.models);
    if (answer.kind === 'list' || answer.kind === 'other') return STEADY_MS;
    return answer.kind === 'unreachable' ? engine.waitMs + MARGIN_MS : UNSURE_MS;
  }

  #tell(answer: ModelsAnswer): void {
    const before = this.#unlisted;
    this.#unlisted = answer.kind === 'list' ? undefined : JSON.stringify(answer);
    if (answer.kind !== 'list' && this.#unlisted !== before) this.#options.onUnlisted(answer);
  }
}

function learn(engine: WatchedEngine, answer: ModelsAnswer): void {
  switch (answer.kind) {
    case 'list':
    case 'other':
      return engine.learn({ kind: 'seen' });
    case 'busy':
      return engine.learn({ kind: 'overloaded', retryAfterMs: answer.retryAfterMs });
    case 'silent':
      return engine.learn({ kind: 'failed' });
    case 'unreachable':
      return engine.learn({ kind: 'unreachable' });
  }
}
