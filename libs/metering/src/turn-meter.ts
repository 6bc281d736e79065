import { chargeFor, possible } from './charge.js';
import { Allowance } from './allowance.js';
import type { MeterOptions } from './meter.js';
import type { Outcome, Purpose, TokenCounts, UsagePart, UsageRecord } from './usage-record.js';

/** A turn as it is known when its response exists. */
export interface MeteredTurn {
  /** Our response id. */
  readonly id: string;
  readonly tenant: string;
  readonly key: string;
  /** By the name that the client used. */
  readonly model: string;
  readonly lane: string | null;
  readonly transport: UsageRecord['transport'];
  readonly serviceTier: string;
  readonly stored: boolean;
}

/** One request to an engine, before it is sent. */
export interface Dispatch {
  readonly purpose: Purpose;
  readonly engine: string;
  /** What the engine calls the model. */
  readonly route: string;
  /** Tokens of the prompt. */
  readonly prompt: number;
  /** Of those, what is read for the first time in this turn. */
  readonly read: number;
  /** Of those, what images cost. */
  readonly image: number;
}

/** How a turn ended. */
export interface TurnEnd {
  readonly outcome: Outcome;
  readonly reason: string | null;
  /** Of all its answers together, as the client was told. */
  readonly answer: Pick<TokenCounts, 'cached' | 'cacheWrite' | 'reasoning'>;
  /** Microseconds by stage. */
  readonly stages: Readonly<Record<string, number>>;
}

type Counts = { -readonly [K in keyof TokenCounts]: TokenCounts[K] };

/**
 * The money of one turn: what is held for it, what was written down before its engine was called, how far it has come, and
 * what it costs. Nothing here waits for a database but the hold of a key with a budget.
 */
export class TurnMeter {
  readonly #turn: MeteredTurn;
  readonly #options: MeterOptions & { readonly onEnd: () => void };
  readonly #parts = new Map<Purpose, { prompt: number; tokens: Counts }>();
  readonly #allowance: Allowance;
  #route = { engine: '', route: '' };
  #current: Purpose = 'answer';
  #admittedAt = 0;
  #admitSequence: number | undefined;
  #progressRecords = 0;
  /** Tokens sampled since something was last written down. */
  #unwritten = 0;
  /** Requests to engines that did not end by themselves. */
  #unfinished = 0;
  #isOver = false;

  constructor(turn: MeteredTurn, options: MeterOptions & { readonly onEnd: () => void }) {
    this.#turn = turn;
    this.#options = options;
    this.#admittedAt = (options.now ?? Date.now)();
    this.#allowance = new Allowance(turn, this.#admittedAt, options);
  }

  /** Whether an engine was asked for anything. */
  get isDispatched(): boolean {
    return this.#admitSequence !== undefined;
  }

  /** Whether something is held for it. */
  get isHeld(): boolean {
    return this.#allowance.isHeld;
  }

  /** Whether its budget has ended: nothing more is to be sampled. */
  get isExhausted(): boolean {
    return this.#allowance.isUsedUp(this.#outputTokens());
  }

  /** Tokens that engines have given for a purpose. */
  received(purpose: Purpose): number {
    return this.#parts.get(purpose)?.tokens.output ?? 0;
  }

  /**
   * Holds the worst case of a turn, where its key has a budget; once, before its engine is called.
   * @param worst tokens of the prompt, and most tokens of an answer: undefined when the request names none
   * @throws BudgetExceeded when that is not left; what the database throws
   */
  hold(worst: {
    readonly purpose: Purpose;
    readonly prompt: number;
    readonly image: number;
    readonly room: number;
    readonly maxOutput: number | undefined;
  }): void | Promise<void> {
    const { prompt, image, purpose } = worst;
    const tokens = { ...NO_TOKENS, input: prompt, image };
    return this.#allowance.reserve({ purpose, prompt, tokens }, worst);
  }

  /**
   * A request is about to be sent to an engine. The first of a turn is written down before this returns.
   * @returns a promise when more has to be held for it first
   * @throws JournalFull; BudgetExceeded; Error when the disk takes nothing
   */
  dispatch({ purpose, prompt, read, image, engine, route }: Dispatch): void | Promise<void> {
    const part = this.#parts.get(purpose) ?? { prompt: 0, tokens: { ...NO_TOKENS } };
    this.#parts.set(purpose, part);
    part.prompt = Math.max(part.prompt, prompt);
    part.tokens.input += read;
    part.tokens.image = Math.min(part.tokens.image + image, part.tokens.input);
    this.#current = purpose;
    this.#route = { engine, route };
    this.#unfinished++;
    const isFirst = this.#admitSequence === undefined;
    if (isFirst) this.#admit();
    else this.#progress();
    return isFirst ? undefined : this.#allowance.require(this.parts);
  }

  /** The request to the engine has ended by itself: everything that it produced has been received. */
  finished(): void {
    this.#unfinished--;
  }

  /**
   * An engine has given so many tokens. Costs no more than an addition most of the time.
   * @returns a promise when nothing more may be read before more is held
   */
  take(tokens: number): void | Promise<void> {
    const part = this.#parts.get(this.#current);
    if (part === undefined) throw new Error('tokens came from an engine that was not asked');
    part.tokens.output += tokens;
    this.#unwritten += tokens;
    if (this.#unwritten >= this.#options.progressTokens) this.#progress();
    return this.#allowance.isLimited ? this.#allowance.follow(this.#outputTokens(), this.parts) : undefined;
  }

  /** What a summary was found to have used. */
  compacted({ cached, cacheWrite }: Pick<TokenCounts, 'cached' | 'cacheWrite'>): void {
    const part = this.#parts.get('compaction');
    if (part !== undefined) Object.assign(part.tokens, { cached, cacheWrite });
  }

  /** A warm-up has read so much; no engine is called for one. */
  warmedUp(prompt: number, image: number, route: Pick<Dispatch, 'engine' | 'route'>): void {
    this.#parts.set('warm_up', { prompt, tokens: { ...NO_TOKENS, input: prompt, image } });
    this.#route = route;
  }

  /** What was used so far, by purpose. */
  get parts(): readonly UsagePart[] {
    return [...this.#parts].map(([purpose, { prompt, tokens }]) => ({
      purpose,
      prompt,
      tokens: { ...tokens },
    }));
  }

  /**
   * Ends it, once. What it costs is written down before this returns; the hold is ended behind it.
   * @returns undefined for a turn that used nothing: it is only released
   */
  settle(end: TurnEnd): UsageRecord | undefined {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    this.#options.onEnd();
    const answer = this.#parts.get('answer');
    if (answer !== undefined) Object.assign(answer.tokens, end.answer);
    if (this.#parts.size === 0) {
      this.#allowance.release();
      return undefined;
    }
    const record = this.#options.journal.settle(this.#record(end));
    this.#allowance.settle(record.amount);
    return record;
  }

  #record({ outcome, reason, stages }: TurnEnd): Omit<UsageRecord, 'journal' | 'settleSequence'> {
    const { prices, now = Date.now } = this.#options;
    const { model, serviceTier } = this.#turn;
    const given = this.parts;
    const parts = given.map((part) => ({ ...part, tokens: possible(part.tokens) }));
    const rates = prices.ratesAt(model, this.#admittedAt);
    return {
      ...this.#admission(),
      ...chargeFor({ parts, outcome, serviceTier }, rates),
      parts,
      outcome,
      reason,
      partial: this.#unfinished > 0,
      clamped: JSON.stringify(parts) !== JSON.stringify(given),
      settledAt: now(),
      stages,
      admitSequence: this.#admitSequence ?? 0,
      progressRecords: this.#progressRecords,
    };
  }

  #admission() {
    const { id, tenant, key, model, lane, transport, serviceTier, stored } = this.#turn;
    const { engine, route } = this.#route;
    const admittedAt = this.#admittedAt;
    return { id, tenant, key, model, engine, route, lane, transport, serviceTier, stored, admittedAt };
  }

  #admit(): void {
    try {
      this.#admitSequence = this.#options.journal.admit({ admission: this.#admission(), parts: this.parts });
    } catch (thrown) {
      // No engine has been asked, and none will be.
      this.#parts.clear();
      this.#unfinished = 0;
      throw thrown;
    }
  }

  #progress(): void {
    this.#unwritten = 0;
    if (this.#options.journal.progress({ id: this.#turn.id, parts: this.parts })) this.#progressRecords++;
  }

  #outputTokens(): number {
    let sum = 0;
    for (const { tokens } of this.#parts.values()) sum += tokens.output;
    return sum;
  }
}

const NO_TOKENS: TokenCounts = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, image: 0 };
