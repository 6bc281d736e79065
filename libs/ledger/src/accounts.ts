/**
 * The accounts of the ledger. Debits are positive: what tenants owe is a positive balance of theirs, what was earned a
 * negative one of the models.
 */
export const ACCOUNT = {
  /** What a tenant owes. */
  tenant: (tenant: string) => `tenant:${tenant}`,
  /** What was earned with a model. */
  revenue: (model: string) => `revenue:${model}`,
  /** What was given back. */
  refunds: 'refunds',
  /** What nobody will pay. */
  writtenOff: 'written_off',
  /** What was paid. */
  cash: 'cash',
} as const;
