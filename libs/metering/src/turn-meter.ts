import { chargeFor, possible } from './charge.js';
import { Allowance } from './allowance.js';
import type { MeteredTurn } from './metered-turn.js';
import type { MeteringOptions } from './metering-options.js';
import type { Outcome, Purpose, TokenCounts, UsagePart, UsageRecord } from './usage-record.js';

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
  /** Of everything that it used, as the client was told; what is not known was counted on the way. */
  readonly usage: Partial<Omit<TokenCounts, 'image'>>;
  /** Microseconds by stage. */
  readonly stages: Readonly<Record<string, number>>;
}

type Counts = { -readonly [K in keyof TokenCounts]: TokenCounts[K] };

/** What a purpose has used so far, and what is known of the engine's last request for it. */
interface Part {
  /** Tokens of the longest prompt. */
  prompt: number;
  readonly tokens: Counts;
  /** The same before the last request. */
  readonly earlier: { readonly prompt: number; readonly tokens: TokenCounts };
  /** Tokens of the last prompt, as they stand in `tokens`; undefined where only what is new in it does. */
  read: number | undefined;
}

/**
 * The money of one turn: what is held for it, what was written down before its engine was called, how far it has come, and
 * what it costs. Nothing here waits for a database but the hold of a key with a budget.
 */
export class TurnMeter {
  readonly #turn: MeteredTurn;
  readonly #options: MeteringOptions & { readonly onEnd: () => void };
  readonly #parts = new Map<Purpose, Part>();
  readonly #allowance: Allowance;
  #route = { engine: '', route: '' };
  #current: Purpose = 'answer';
  #admittedAt = 0;
  #admitSequence: number | undefined;
  #progressRecords = 0;
  /** Tokens that an answer may have, over all requests for it. */
  #mostOutput = Infinity;
  /** Tokens sampled since something was last written down. */
  #unwritten = 0;
  /** Requests to engines that did not end by themselves. */
  #unfinished = 0;
  #isClamped = false;
  #isOver = false;

  constructor(turn: MeteredTurn, options: MeteringOptions & { readonly onEnd: () => void }) {
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

  /** What was used for a purpose; undefined when no engine was asked for it. */
  used(purpose: Purpose): TokenCounts | undefined {
    return this.#parts.get(purpose)?.tokens;
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
    const { prompt, image, purpose, room, maxOutput = room } = worst;
    this.#mostOutput = Math.min(maxOutput, room);
    const tokens = { ...NO_TOKENS, input: prompt, image };
    return this.#allowance.reserve({ purpose, prompt, tokens }, worst);
  }

  /**
   * An engine is about to be asked. The first time is written down before this returns, or resolves.
   * @returns a promise when more has to be held for it first
   * @throws JournalFull; BudgetExceeded
   */
  dispatch({ purpose, prompt, read, image, engine, route }: Dispatch): void | Promise<void> {
    const before = this.#parts.get(purpose);
    const earlier = before ?? { prompt: 0, tokens: NO_TOKENS };
    const tokens = { ...earlier.tokens };
    const part = {
      prompt: Math.max(earlier.prompt, prompt),
      tokens,
      earlier: { prompt: earlier.prompt, tokens: earlier.tokens },
      read: read === prompt ? read : undefined,
    };
    this.#parts.set(purpose, part);
    part.tokens.input += read;
    part.tokens.image = Math.min(part.tokens.image + image, part.tokens.input);
    this.#current = purpose;
    this.#route = { engine, route };
    const isFirst = this.#admitSequence === undefined;
    try {
      const held = this.#allowance.require(this.parts, this.#leftFor(purpose));
      if (held === undefined) return this.#written(isFirst);
      return held
        .then(() => this.#written(isFirst))
        .catch((thrown: unknown) => this.#refused(purpose, before, thrown));
    } catch (thrown) {
      return this.#refused(purpose, before, thrown);
    }
  }

  /** A request is sent to the engine. */
  requested(): void {
    this.#unfinished++;
  }

  /** The request to the engine has ended by itself: everything that it produced has been received. */
  finished(): void {
    this.#unfinished--;
  }

  /** Another engine is asked in place of the last one, which failed: only what that one does is counted. */
  failedOver(): void {
    const part = this.#parts.get(this.#current);
    if (part !== undefined) {
      part.prompt = part.earlier.prompt;
      Object.assign(part.tokens, part.earlier.tokens);
    }
    this.#unfinished = 0;
  }

  /** The engine has said how many tokens the prompt of its last request has: they stand in for those that were estimated. */
  counted(prompt: number): void {
    const part = this.#parts.get(this.#current);
    if (part === undefined) throw new Error('a prompt was counted by an engine that was not asked');
    part.prompt = Math.max(part.earlier.prompt, prompt);
    if (part.read === undefined) return;
    part.tokens.input += prompt - part.read;
    part.read = prompt;
  }

  /** An engine has said something impossible, and was cut to what is possible. */
  clamped(): void {
    this.#isClamped = true;
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
    if (part === undefined) return;
    part.tokens.cached = cached;
    part.tokens.cacheWrite = cacheWrite;
  }

  /** A warm-up has read so much; no engine is called for one. */
  warmedUp(prompt: number, image: number, route: Pick<Dispatch, 'engine' | 'route'>): void {
    const tokens = { ...NO_TOKENS, input: prompt, image };
    this.#parts.set('warm_up', { prompt, tokens, earlier: { prompt: 0, tokens: NO_TOKENS }, read: prompt });
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
    this.#answered(end.usage);
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
      clamped: this.#isClamped || JSON.stringify(parts) !== JSON.stringify(given),
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

  /** What is not of the summary is of the answer. What an engine gave is never less than what was received of it. */
  #answered(total: TurnEnd['usage']): void {
    const answer = this.#parts.get('answer')?.tokens;
    if (answer === undefined) return;
    const summary = this.#parts.get('compaction')?.tokens ?? NO_TOKENS;
    const rest = (name: keyof TurnEnd['usage']) => Math.max(0, (total[name] ?? 0) - summary[name]);
    if (total.input !== undefined) answer.input = rest('input');
    answer.output = Math.max(answer.output, rest('output'));
    answer.cached = rest('cached');
    answer.cacheWrite = rest('cacheWrite');
    answer.reasoning = rest('reasoning');
  }

  /** Tokens of output that may still come of a request; undefined for a summary's. */
  #leftFor(purpose: Purpose): number | undefined {
    if (purpose !== 'answer') return undefined;
    return Math.max(0, this.#mostOutput - (this.#parts.get('answer')?.tokens.output ?? 0));
  }

  #written(isFirst: boolean): void {
    if (!isFirst) return this.#progress();
    this.#admitSequence = this.#options.journal.admit({ admission: this.#admission(), parts: this.parts });
  }

  /** An engine that was to be asked is not: nothing is read. */
  #refused(purpose: Purpose, before: Part | undefined, thrown: unknown): never {
    if (before === undefined) this.#parts.delete(purpose);
    else this.#parts.set(purpose, before);
    throw thrown;
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
