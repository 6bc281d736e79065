/** Tokens of one kind of work, all of them whole numbers. */
export interface TokenCounts {
  /** Everything that was read, the cached included. */
  readonly input: number;
  /** Of the input, what the engine found in its prefix cache. */
  readonly cached: number;
  /** Of the input, what the engine wrote to a cache that has a price of its own. */
  readonly cacheWrite: number;
  /** Everything that was sampled, reasoning included. */
  readonly output: number;
  /** Of the output. */
  readonly reasoning: number;
  /** Of the input, what images cost. */
  readonly image: number;
}

/** What tokens were for: each has a price of its own. */
export type Purpose = 'answer' | 'warm_up' | 'compaction';

/** The tokens of a turn that were for one purpose. */
export interface UsagePart {
  readonly purpose: Purpose;
  /** Tokens of the longest prompt that an engine was given for it: what decides about the price tier. */
  readonly prompt: number;
  readonly tokens: TokenCounts;
}

/**
 * How a turn ended. `disconnected`: its client left. `cancelled`: its client ended it. `lost`: its gateway died, and what
 * is recorded is what it had written down last.
 */
export type Outcome = 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'disconnected' | 'lost';

/** What a turn is known as before anything is generated. */
export interface Admission {
  /** Our response id: one generation, whatever the engine calls it. */
  readonly id: string;
  readonly tenant: string;
  /** Name of the API key, never the key. */
  readonly key: string;
  readonly model: string;
  readonly engine: string;
  /** What the engine calls the model. */
  readonly route: string;
  /** Its lane, by a word that says nothing of its `stream_id`; null for the default one. */
  readonly lane: string | null;
  readonly transport: 'websocket' | 'http' | 'background';
  /** As the request had it. */
  readonly serviceTier: string;
  /** Whether the response is kept, so that it can be compared. */
  readonly stored: boolean;
  /** When the turn began; ms since the epoch. Decides about prices and about windows, of what is held as of the bill. */
  readonly admittedAt: number;
}

/** What decided about the amount. */
export type ChargeRule =
  /** Tokens times prices. */
  | 'billed'
  /** The engine failed before it gave anything. */
  | 'free_failed_before_output'
  /** The price book has no price for the model, or one that comes to more than a row holds; a later one can rate it. */
  | 'unpriced';

/** The bill of a turn. */
export interface Charge {
  readonly rule: ChargeRule;
  /** Version of the price book; null when there was no price. */
  readonly priceVersion: string | null;
  /** Nano-dollars, a safe integer. */
  readonly amount: number;
}

/** What one turn used and what it costs: one row of the ledger. It has counts and names, and no word of any prompt. */
export interface UsageRecord extends Admission, Charge {
  readonly parts: readonly UsagePart[];
  readonly outcome: Outcome;
  /** Why it is incomplete or failed, as the client was told. */
  readonly reason: string | null;
  /** Whether the turn was cut off: the engine may have produced more than was received. */
  readonly partial: boolean;
  /** Whether an engine's count was impossible, as more cached than read, and was cut to what is possible. */
  readonly clamped: boolean;
  readonly settledAt: number;
  /** Microseconds by stage. */
  readonly stages: Readonly<Record<string, number>>;
  /** Where it was written down: name of the journal, and the numbers of its records there. */
  readonly journal: string;
  readonly admitSequence: number;
  readonly settleSequence: number;
  /** Progress records between the two. */
  readonly progressRecords: number;
}

/** Sums over parts. */
export function totalOf(parts: readonly UsagePart[]): TokenCounts {
  const sum = (pick: (tokens: TokenCounts) => number) =>
    parts.reduce((total, { tokens }) => total + pick(tokens), 0);
  return {
    input: sum(({ input }) => input),
    cached: sum(({ cached }) => cached),
    cacheWrite: sum(({ cacheWrite }) => cacheWrite),
    output: sum(({ output }) => output),
    reasoning: sum(({ reasoning }) => reasoning),
    image: sum(({ image }) => image),
  };
}
