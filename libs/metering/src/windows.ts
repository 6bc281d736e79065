/** Over what a budget counts: days and months are those of UTC. */
export type Period = 'day' | 'month' | 'total';

/** `2026-01-31` in UTC. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Whether text is a day that there is, as `2026-01-31`; `2026-02-30` is none, although it can be read as one. */
export function isDay(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : NaN;
  return !Number.isNaN(at) && dayOf(at) === text;
}

/** The window of a period that a moment lies in: `day:2026-01-31`, `month:2026-01`, `total`. */
export function windowOf(period: Period, at: number): string {
  if (period === 'total') return period;
  return period === 'day' ? `day:${dayOf(at)}` : `month:${dayOf(at).slice(0, 7)}`;
}

/** Whom or what a budget is for. A model's is that of one tenant's use of it. */
export type BudgetSubject =
  | { readonly scope: 'tenant'; readonly tenant: string }
  | { readonly scope: 'key'; readonly tenant: string; readonly key: string }
  | { readonly scope: 'model'; readonly tenant: string; readonly model: string };

/** Names a subject among all; no two share a name, whatever tenants and keys are called. */
export function subjectName(subject: BudgetSubject): string {
  const { scope, tenant } = subject;
  if (scope === 'tenant') return JSON.stringify([scope, tenant]);
  return JSON.stringify([scope, tenant, scope === 'key' ? subject.key : subject.model]);
}

/** Every subject that a turn counts for. */
export function subjectsOf({
  tenant,
  key,
  model,
}: Readonly<Record<'tenant' | 'key' | 'model', string>>): readonly BudgetSubject[] {
  return [
    { scope: 'tenant', tenant },
    { scope: 'key', tenant, key },
    { scope: 'model', tenant, model },
  ];
}
