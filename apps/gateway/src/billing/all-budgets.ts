import type { KeyRing } from '@turnpike/access';
import type { Budget, BudgetSource, BudgetTurn } from '@turnpike/metering';
import { subjectOf } from './config-budgets.js';

/** The budgets of the configuration, and those that stand beside the keys in the database. */
export class AllBudgets implements BudgetSource {
  constructor(
    private readonly configured: { budgetsOf(turn: BudgetTurn): readonly Budget[] },
    private readonly keys: Pick<KeyRing, 'budgetsOf'>,
  ) {}

  budgetsOf(turn: BudgetTurn): readonly Budget[] {
    const stored = this.keys.budgetsOf(turn).map((budget) => ({
      name: budget.id,
      subject: subjectOf(budget),
      period: budget.period,
      limit: budget.amount,
      shadow: budget.shadow,
    }));
    return [...this.configured.budgetsOf(turn), ...stored];
  }
}
