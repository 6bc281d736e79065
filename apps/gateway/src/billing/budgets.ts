import type { KeyRing } from '@turnpike/access';
import type { Budget, BudgetSource, BudgetSubject, BudgetTurn } from '@turnpike/metering';
import type { Config } from '../config/schema.js';
import type { ModelNames } from './model-names.js';

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
  readonly #names: ModelNames;

  /** @param names by which budgets may call a model: one for an alias is one for its model */
  constructor(configured: readonly Configured[], kept: Pick<KeyRing, 'budgetsOf'>, names: ModelNames) {
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
    const kept = this.#keptFor(turn);
    if (kept.length === 0) return configured;
    return [
      ...configured,
      ...kept.map(({ id, amount, period, shadow, ...named }) => ({
        name: id,
        subject: this.#subjectOf(named),
        period,
        limit: amount,
        shadow,
      })),
    ];
  }

  #keptFor(turn: BudgetTurn): ReturnType<KeyRing['budgetsOf']> {
    const kept = this.#kept.budgetsOf(turn);
    const byAlias = this.#names
      .aliasesOf(turn.model)
      .flatMap((alias) =>
        this.#kept.budgetsOf({ ...turn, model: alias }).filter(({ model }) => model === alias),
      );
    return byAlias.length === 0 ? kept : [...kept, ...byAlias];
  }

  #subjectOf({ tenant, key, model }: Named): BudgetSubject {
    if (key !== undefined) return { scope: 'key', tenant, key };
    return model === undefined
      ? { scope: 'tenant', tenant }
      : { scope: 'model', tenant, model: this.#names.modelOf(model) };
  }
}
