import { isFree, worstPriceOf } from './charge.js';
import type { Budget, HoldRequest } from './holds.js';
import type { MeteredTurn } from './metered-turn.js';
import type { MeteringOptions } from './metering-options.js';
import { fitsRow } from './money.js';
import type { Rates } from './price-book.js';
import type { UsagePart } from './usage-record.js';

/** A budget has no room for a turn. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';

  /** @param budget undefined when the model has no price, so that no budget can bear it */
  constructor(readonly budget: Budget | undefined) {
    super(
      budget === undefined
        ? 'The model has no price, and spending is limited by a budget.'
        : `The budget '${budget.name}' has been used up.`,
    );
  }
}

/** Covered: as much as can ever be sampled. */
const WHOLE = Number.MAX_SAFE_INTEGER;
/** Least tokens of output that a turn is begun with, and that are held at a time. */
const LEAST_TOKENS = 16;

type Options = Pick<MeteringOptions, 'budgets' | 'holds' | 'prices' | 'holdOutputTokens' | 'onHoldFailure'>;

/** What a turn may still use, where its key, its tenant or its model has a budget. */
export class Allowance {
  readonly #turn: MeteredTurn;
  readonly #at: number;
  readonly #options: Options;
  readonly #rates: Rates | undefined;
  #budgets: readonly Budget[] = [];
  /** Nano-dollars held. */
  #held = 0;
  /** Tokens of output that what is held is enough for; infinite where nothing is limited. */
  #covered = Infinity;
  #isRefused = false;
  #extending: Promise<void> | undefined;

  constructor(turn: MeteredTurn, at: number, options: Options) {
    this.#turn = turn;
    this.#at = at;
    this.#options = options;
    this.#rates = options.prices.ratesAt(turn.model, at);
  }

  /** Whether there is a budget that refuses. */
  get isLimited(): boolean {
    return this.#covered !== Infinity;
  }

  get isHeld(): boolean {
    return this.#budgets.length > 0;
  }

  /** Whether so much output is all that the budget is enough for. */
  isUsedUp(output: number): boolean {
    return this.#isRefused && output >= this.#covered;
  }

  /**
   * Of a model that is free nothing is held, and no budget is too small for it.
   * @throws BudgetExceeded
   */
  reserve(
    prompt: UsagePart,
    worst: { readonly room: number; readonly maxOutput: number | undefined },
  ): void | Promise<void> {
    if (this.#rates !== undefined && isFree(this.#rates)) return undefined;
    const budgets = this.#options.budgets?.budgetsOf(this.#turn) ?? [];
    if (budgets instanceof Promise) return budgets.then((found) => this.#reserve(found, prompt, worst));
    return budgets.length === 0 ? undefined : this.#reserve(budgets, prompt, worst);
  }

  /**
   * Holds what a further request to an engine needs at least: all that its output may have where that is known, so that nothing is
   * overdrawn; where that is not left, or is not known, what it begins with.
   * @param most tokens of output that may still come; undefined for those of a summary, which no request names
   * @throws BudgetExceeded
   */
  require(parts: readonly UsagePart[], most: number | undefined): void | Promise<void> {
    if (!this.isLimited) return undefined;
    const isWhole = this.#covered === WHOLE;
    const least = isWhole ? most : LEAST_TOKENS;
    if (least !== undefined && this.#priceWith(parts, least) <= this.#held) return undefined;
    // What was held for all of it is not enough any more: from here on it is held by and by.
    if (isWhole) this.#covered = outputOf(parts);
    return this.#extend(parts, isWhole ? most : undefined).then(() => {
      if (this.#priceWith(parts, 0) > this.#held) throw new BudgetExceeded(this.#budgets[0]);
    });
  }

  /** @returns a promise when nothing more may be read before more is held, or it is clear that nothing more is */
  follow(output: number, parts: readonly UsagePart[]): void | Promise<void> {
    if (this.#isRefused || output + this.#options.holdOutputTokens / 2 < this.#covered) return undefined;
    this.#extending ??= this.#extend(parts)
      .catch((thrown: unknown) => {
        // What nobody can answer for is not spent.
        this.#isRefused = true;
        this.#options.onHoldFailure?.(thrown);
      })
      .finally(() => (this.#extending = undefined));
    return output < this.#covered ? undefined : this.#extending;
  }

  settle(amount: number): void {
    if (this.isHeld) this.#end(this.#options.holds?.settle(this.#turn.id, amount));
  }

  release(): void {
    if (this.isHeld) this.#end(this.#options.holds?.release(this.#turn.id));
  }

  async #reserve(
    budgets: readonly Budget[],
    prompt: UsagePart,
    { room, maxOutput }: { readonly room: number; readonly maxOutput: number | undefined },
  ): Promise<void> {
    const { holds, holdOutputTokens } = this.#options;
    if (holds === undefined || budgets.length === 0) return;
    const limits = budgets.some(({ shadow }) => !shadow);
    if (this.#rates === undefined && limits) throw new BudgetExceeded(undefined);
    const most = Math.max(0, Math.min(maxOutput ?? holdOutputTokens, room));
    // What a client asks for is held as a whole; where it names no limit, less will do to begin with.
    const sizes = maxOutput === undefined ? sizesFrom(most) : [most];
    let refusedBy: Budget | undefined;
    for (const output of sizes) {
      const amount = this.#priceWith([prompt], output);
      const result = await holds.reserve(this.#request(amount), budgets);
      if (result.kind === 'held') {
        this.#budgets = budgets;
        this.#held = amount;
        const isWhole = maxOutput !== undefined || output >= room;
        if (limits) this.#covered = isWhole ? WHOLE : output;
        return;
      }
      refusedBy = result.budget;
    }
    throw new BudgetExceeded(refusedBy);
  }

  /** @param whole tokens of output that are all there can be, tried first */
  async #extend(parts: readonly UsagePart[], whole?: number): Promise<void> {
    const { holds, holdOutputTokens } = this.#options;
    const output = outputOf(parts);
    for (const more of [...(whole === undefined ? [] : [whole]), ...sizesFrom(holdOutputTokens)]) {
      const amount = this.#priceWith(parts, more) - this.#held;
      if (amount > 0) {
        const result = await holds?.extend(this.#request(amount), this.#budgets);
        if (result?.kind !== 'held') continue;
        this.#held += amount;
      }
      this.#covered = more === whole ? WHOLE : Math.max(this.#covered, output + more);
      return;
    }
    this.#isRefused = true;
  }

  #priceWith(parts: readonly UsagePart[], output: number): number {
    const rates = this.#rates;
    if (rates === undefined) return 0;
    const worst = worstPriceOf(parts, output, this.#turn.serviceTier, rates);
    // More than any budget has.
    return fitsRow(worst) ? Number(worst) : Number.MAX_SAFE_INTEGER;
  }

  #request(amount: number): HoldRequest {
    const { id, tenant, key, model } = this.#turn;
    return { id, tenant, key, model, at: this.#at, amount };
  }

  #end(ended: Promise<void> | undefined): void {
    ended?.catch((thrown: unknown) => this.#options.onHoldFailure?.(thrown));
  }
}

/** From so many tokens down to the least that are of use. */
function sizesFrom(most: number): number[] {
  const sizes = [most];
  for (let size = most / 4; size >= LEAST_TOKENS; size /= 4) sizes.push(Math.floor(size));
  return sizes;
}

function outputOf(parts: readonly UsagePart[]): number {
  return parts.reduce((sum, { tokens }) => sum + tokens.output, 0);
}
