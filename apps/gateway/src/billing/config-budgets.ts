import type { Budget, BudgetSource, BudgetSubject, BudgetTurn } from '@turnpike/metering';
import type { Config } from '../config/schema.js';

type Configured = Config['billing']['budgets'][number];

/** The budgets of the configuration. */
export class ConfigBudgets implements BudgetSource {
  readonly #byTenant = new Map<string, Budget[]>();

  constructor(budgets: readonly Configured[]) {
    for (const { tenant, key, model, period, usd, shadow } of budgets) {
      const budget = {
        name: `${[tenant, key ?? model].filter(Boolean).join('/')} ${period}`,
        subject: subjectOf({ tenant, key, model }),
        period,
        limit: usd,
        shadow,
      };
      this.#byTenant.set(tenant, [...(this.#byTenant.get(tenant) ?? []), budget]);
    }
  }

  budgetsOf(turn: BudgetTurn): readonly Budget[] {
    return (this.#byTenant.get(turn.tenant) ?? NONE).filter(({ subject }) => {
      if (subject.scope === 'tenant') return true;
      return subject.scope === 'key' ? subject.key === turn.key : subject.model === turn.model;
    });
  }
}

const NONE: readonly Budget[] = [];

export function subjectOf({
  tenant,
  key,
  model,
}: {
  readonly tenant: string;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
}): BudgetSubject {
  if (key !== undefined) return { scope: 'key', tenant, key };
  return model === undefined ? { scope: 'tenant', tenant } : { scope: 'model', tenant, model };
}
