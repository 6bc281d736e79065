import { csv, USAGE_GROUPS, type UsageFilter, type UsageGroup, type UsageSum } from '@turnpike/ledger';
import { dayOf, dollars, isDay } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import { hasControls } from './controls.js';

/** What usage is asked for, and how it is added up. */
export interface UsageQuery {
  readonly by: readonly UsageGroup[];
  readonly filter: UsageFilter;
}

const FILTERS = ['tenant', 'key', 'model', 'from', 'to'] as const;

/**
 * `group_by` (names with commas between them), `tenant`, `key`, `model`, `from` and `to` (days, both included). Without days: this
 * month, in UTC.
 * @throws ApiError invalid_value naming the parameter at fault
 */
export function parseUsageQuery(query: Readonly<Record<string, unknown>>, now: number): UsageQuery {
  const groups = textOf(query, 'group_by') ?? 'day,model';
  const by = [...new Set(groups.split(','))].map((name) => {
    const group = USAGE_GROUPS.find((each) => each === name);
    if (group === undefined) throw invalid('group_by', `must be some of ${USAGE_GROUPS.join(', ')}`);
    return group;
  });
  const given = FILTERS.map((name) => [name, textOf(query, name)] as const);
  const filter: UsageFilter = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  for (const name of ['from', 'to'] as const) {
    const day = filter[name];
    if (day !== undefined && !isDay(day)) throw invalid(name, 'must be a day as 2027-01-31');
  }
  const { from = `${dayOf(now).slice(0, 7)}-01`, to = dayOf(now) } = filter;
  if (from > to) {
    throw filter.to === undefined
      ? invalid('from', `must not be after ${to}`)
      : invalid('to', `must not be before ${from}`);
  }
  return { by, filter: { ...filter, from, to } };
}

/** Whose invoice is asked for, and of which days, both included. */
export interface InvoiceQuery {
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
}

/**
 * `tenant`, which a tenant's own key can leave out, `from` and `to` as in {@link parseUsageQuery}.
 * @param own the tenant of who asks; undefined for an operator
 * @throws ApiError missing_required_parameter | invalid_value naming the parameter at fault
 */
export function parseInvoiceQuery(
  query: Readonly<Record<string, unknown>>,
  now: number,
  own: string | undefined,
): InvoiceQuery {
  const { tenant = own, from = '', to = '' } = parseUsageQuery(query, now).filter;
  if (tenant === undefined) {
    throw new ApiError('missing_required_parameter', { param: 'tenant', message: "A 'tenant' is required." });
  }
  return { tenant, from, to };
}

/** A row of the API. Amounts are exact, as text. */
export function usageObject({ group, amount, ...counts }: UsageSum) {
  return { object: 'usage', ...group, ...counts, amount_usd: dollars(amount) };
}

const COUNTS = ['turns', 'partial', 'unpriced', 'input', 'cached', 'output', 'reasoning'] as const;

export function usageCsv(by: readonly UsageGroup[], sums: readonly UsageSum[]): string {
  return csv(
    [...by, ...COUNTS, 'amount_usd'],
    sums.map((sum) => [
      ...by.map((name) => sum.group[name] ?? ''),
      ...COUNTS.map((name) => sum[name]),
      dollars(sum.amount),
    ]),
  );
}

/** A parameter that is given once; an empty one, as a form sends it, is none. */
function textOf(query: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw invalid(name, 'must be given once');
  if (hasControls(value)) throw invalid(name, 'must not have control characters');
  return value;
}

function invalid(param: string, reason: string): ApiError {
  return new ApiError('invalid_value', { param, message: `'${param}' ${reason}.` });
}
