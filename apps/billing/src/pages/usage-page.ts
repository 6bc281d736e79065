import { USAGE_GROUPS, type Balance, type UsageGroup, type UsageSum } from '@turnpike/ledger';
import { dollars } from '@turnpike/metering';
import { html, type Html } from '../http/html.js';
import type { UsageQuery } from '../usage-query.js';
import { count, table } from './layout.js';

export interface UsageView {
  readonly query: UsageQuery;
  readonly sums: readonly UsageSum[];
  /** The same turns, by day. */
  readonly days: readonly UsageSum[];
  readonly balances: readonly (Balance & { readonly tenant: string })[];
  /** Undefined for who may not see them. */
  readonly openLetters: number | undefined;
}

/** Tokens and dollars, by whatever is asked for. */
export function usageBody({ query, sums, days, balances, openLetters }: UsageView): Html {
  const total = (pick: (sum: UsageSum) => number) => sums.reduce((all, sum) => all + pick(sum), 0);
  const amount = sums.reduce((all, sum) => all + sum.amount, 0n);
  return html`
    ${filterForm(query)}
    <div class="cards">
      ${card(`$${dollars(amount)}`, 'charged')} ${card(count(total(({ turns }) => turns)), 'turns')}
      ${card(count(total(({ input }) => input)), 'tokens read')}
      ${card(count(total(({ cached }) => cached)), 'of them cached')}
      ${card(count(total(({ output }) => output)), 'tokens written')}
    </div>
    ${letters(openLetters)} ${chart(days)}
    <h2>By ${query.by.join(', ')}</h2>
    ${sumTable(query.by, sums)}
    <p><a href="/usage.csv?${searchOf(query)}">Download as CSV</a></p>
    <h2>Owed</h2>
    ${table(
      'What each tenant owes, corrections, refunds and payments included',
      [
        { title: 'Tenant' },
        { title: 'Dollars', isNumber: true },
        { title: 'Entries', isNumber: true },
        { title: 'Invoice of these days' },
      ],
      balances.map(({ tenant, balance, entries }) => [
        tenant,
        dollars(balance),
        count(entries),
        invoiceLinks(tenant, query),
      ]),
    )}
  `;
}

function invoiceLinks(tenant: string, { filter: { from = '', to = '' } }: UsageQuery): Html {
  const link = (format: string) => {
    const search = new URLSearchParams({ tenant, from, to, format }).toString();
    const name = format.toUpperCase();
    return html`<a href="/invoice?${search}" aria-label="Invoice of ${tenant} as ${name}">${name}</a>`;
  };
  return html`${link('csv')} ${link('json')}`;
}

function card(value: string, name: string): Html {
  return html`<div class="card"><b>${value}</b><span>${name}</span></div>`;
}

function letters(open: number | undefined): Html | undefined {
  if (open === undefined || open === 0) return undefined;
  return html`<p class="error">
    ${open} ${open === 1 ? 'record' : 'records'} could not be booked:
    <a href="/dead-letters">decide about ${open === 1 ? 'it' : 'them'}</a>.
  </p>`;
}

function sumTable(by: readonly UsageGroup[], sums: readonly UsageSum[]): Html {
  const numbers = ['Turns', 'Read', 'Cached', 'Written', 'Reasoning', 'Cut off', 'No price', 'Dollars'];
  return table(
    'Tokens and dollars',
    [
      ...by.map((title) => ({ title: title.charAt(0).toUpperCase() + title.slice(1) })),
      ...numbers.map((title) => ({ title, isNumber: true })),
    ],
    sums.map((sum) => [
      ...by.map((name) => sum.group[name]),
      count(sum.turns),
      count(sum.input),
      count(sum.cached),
      count(sum.output),
      count(sum.reasoning),
      count(sum.partial),
      count(sum.unpriced),
      dollars(sum.amount),
    ]),
    'No turns in this time.',
  );
}

const WIDTH = 1_000;
const HEIGHT = 100;

/** Dollars a day, or tokens where everything is free. */
function chart(days: readonly UsageSum[]): Html | undefined {
  if (days.length < 2) return undefined;
  const isFree = days.every(({ amount }) => amount === 0n);
  const values = days.map(({ amount, input, output }) => (isFree ? input + output : Number(amount)));
  const most = Math.max(1, ...values);
  const step = WIDTH / days.length;
  const bars = days.map(({ group, amount }, index) => {
    const height = ((values[index] ?? 0) / most) * HEIGHT;
    const what = isFree ? `${count(values[index] ?? 0)} tokens` : `$${dollars(amount)}`;
    return html`<rect
      x="${(index * step).toFixed(1)}"
      y="${(HEIGHT - height).toFixed(1)}"
      width="${(step * 0.8).toFixed(1)}"
      height="${height.toFixed(1)}"
    >
      <title>${group.day}: ${what}</title>
    </rect>`;
  });
  return html`<h2>${isFree ? 'Tokens' : 'Dollars'} a day</h2>
    <svg
      class="bars"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="One bar a day"
    >
      ${bars}
    </svg>`;
}

function filterForm({ by, filter }: UsageQuery): Html {
  const field = (name: 'tenant' | 'key' | 'model' | 'from' | 'to', type: string) =>
    html`<label
      >${name.charAt(0).toUpperCase() + name.slice(1)}
      <input name="${name}" type="${type}" value="${filter[name]}" size="12" />
    </label>`;
  const choices = [...new Set([by.join(','), ...USAGE_GROUPS, 'day,model', 'tenant,model', 'tenant,key'])];
  return html`<form class="filter" method="get" action="/">
    ${field('from', 'date')} ${field('to', 'date')} ${field('tenant', 'text')} ${field('key', 'text')}
    ${field('model', 'text')}
    <label
      >By
      <select name="group_by">
        ${choices.map((choice) =>
          choice === by.join(',')
            ? html`<option selected>${choice}</option>`
            : html`<option>${choice}</option>`,
        )}
      </select>
    </label>
    <button>Show</button>
  </form>`;
}

function searchOf({ by, filter }: UsageQuery): string {
  const given = Object.entries(filter).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return new URLSearchParams([['group_by', by.join(',')], ...given]).toString();
}
