import type { KeyRing } from '@turnpike/access';
import type { Budget, BudgetSource, BudgetSubject, BudgetTurn } from '@turnpike/metering';
import type { Config } from '../config/schema.js';

type Configured = Config['billing']['budgets'][number];

/** What names whom a budget is for, wherever it is kept. */
interface Named {
  readonly tenant: string;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
}

const NONE: readonly Budget[] = [];

/** The budgets of the configuration, and those that operators keep in the database: a change holds from the next turn on. */
export class Budgets implements BudgetSource {
  readonly #configured = new Map<string, Budget[]>();
  readonly #kept: Pick<KeyRing, 'budgetsOf'>;
  readonly #names: ReadonlyMap<string, string>;

  /** @param names of models by their aliases: a budget for either is for the model, and turns are the model's */
  constructor(
    configured: readonly Configured[],
    kept: Pick<KeyRing, 'budgetsOf'>,
    names: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#kept = kept;
    this.#names = names;
    for (const { tenant, key, model, period, usd: limit, shadow } of configured) {
      const name = `${[tenant, key ?? model].filter(Boolean).join('/')} ${period}`;
      const budget = { name, subject: this.#subjectOf({ tenant, key, model }), period, limit, shadow };
      this.#configured.set(tenant, [...(this.#configured.get(tenant) ?? []), budget]);
    }
  }

  budgetsOf(turn: BudgetTurn): readonly Budget[] {
    const configured = (this.#configured.get(turn.tenant) ?? NONE).filter(({ subject }) => {
      if (subject.scope === 'tenant') return true;
      return subject.scope === 'key' ? subject.key === turn.key : subject.model === turn.model;
    });
    const aliases = [...this.#names].filter(([, name]) => name === turn.model).map(([alias]) => alias);
    const kept = new Set(
      [turn.model, ...aliases].flatMap((model) => this.#kept.budgetsOf({ ...turn, model })),
    );
    if (kept.size === 0) return configured;
    return [
      ...configured,
      ...[...kept].map(({ id, amount, period, shadow, ...named }) => ({
        name: id,
        subject: this.#subjectOf(named),
        period,
        limit: amount,
        shadow,
      })),
    ];
  }

  #subjectOf({ tenant, key, model }: Named): BudgetSubject {
    if (key !== undefined) return { scope: 'key', tenant, key };
    if (model === undefined) return { scope: 'tenant', tenant };
    return { scope: 'model', tenant, model: this.#names.get(model) ?? model };
  }
}
