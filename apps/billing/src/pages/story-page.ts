import type { MoneyStory } from '@turnpike/ledger';
import { dollars, totalOf, type UsageRecord } from '@turnpike/metering';
import { html, type Html } from '../http/html.js';
import { count, facts, moment, table } from './layout.js';

export function findForm(id = ''): Html {
  return html`<form class="filter" method="get" action="/response">
    <label>Response id <input name="id" value="${id}" size="60" required pattern="\\S+" /></label>
    <button>Show</button>
  </form>`;
}

/** Everything that is known of the money of one response, in the order in which it happened. */
export function storyBody(story: MoneyStory): Html {
  const { record, hold, bookedAt, job, transactions, deadLetters } = story;
  return html`
    ${findForm(story.responseId)}
    ${record === undefined ? notBooked(deadLetters.length > 0) : recordOf(record)}
    <h2>Hold</h2>
    ${
      hold === undefined
        ? html`<p class="empty">Nothing was held: the key, its tenant and the model have no budget.</p>`
        : facts([
            ['State', hold.state],
            ['Amount', `$${dollars(hold.amount)}`],
            ['Taken', moment(hold.created_at)],
          ])
    }
    <h2>Ledger</h2>
    ${
      bookedAt === undefined
        ? undefined
        : facts([
            ['Booked', moment(bookedAt)],
            ['Queue job', job ?? 'none: straight from the journal'],
          ])
    }
    ${transactions.map(
      (each) => html`
        ${table(
          `${each.kind} of ${each.day}: ${each.id}`,
          [{ title: 'Account' }, { title: 'Dollars', isNumber: true }],
          each.entries.map(({ account, amount }) => [account, dollars(amount)]),
        )}
        ${each.reason === null ? undefined : html`<p class="note">By ${each.author}: ${each.reason}</p>`}
      `,
    )}
    ${transactions.length === 0 ? html`<p class="empty">No entries.</p>` : undefined}
    ${deadLetters.length === 0 ? undefined : html`<h2>Dead letters</h2>`}
    ${deadLetters.map((letter) =>
      facts([
        ['Found in', letter.job],
        ['Reason', letter.reason],
        ['State', letter.state],
        ['Decision', letter.resolution ?? undefined],
      ]),
    )}
  `;
}

function notBooked(isDead: boolean): Html {
  return html`<p class="note">
    ${
      isDead
        ? 'It is not in the ledger: it could not be booked.'
        : 'It is not in the ledger: it runs, or its record is still in the journal of its gateway or in the queue.'
    }
  </p>`;
}

function recordOf(record: UsageRecord): Html {
  const total = totalOf(record.parts);
  return html`
    <div class="cards">
      <div class="card"><b>$${dollars(record.amount)}</b><span>${record.rule}</span></div>
      <div class="card">
        <b>${count(total.input)}</b><span>tokens read, ${count(total.cached)} cached</span>
      </div>
      <div class="card">
        <b>${count(total.output)}</b><span>tokens written, ${count(total.reasoning)} reasoning</span>
      </div>
      <div class="card"><b>${record.outcome}</b><span>${record.reason ?? 'nothing went wrong'}</span></div>
    </div>
    <h2>Turn</h2>
    ${facts([
      ['Tenant', record.tenant],
      ['Key', record.key],
      ['Model', `${record.model} (${record.route} at ${record.engine})`],
      ['Transport', record.transport],
      ['Lane', record.lane ?? undefined],
      ['Service tier', record.serviceTier],
      ['Price version', record.priceVersion ?? 'none: the model has no price'],
      ['Cut off', record.partial ? 'yes: the engine may have produced more than was received' : 'no'],
    ])}
    <h2>Journal</h2>
    ${facts([
      ['Journal', record.journal],
      ['Admitted', html`${moment(record.admittedAt)}, record ${record.admitSequence}`],
      ['Progress', `${count(record.progressRecords)} records`],
      ['Settled', html`${moment(record.settledAt)}, record ${record.settleSequence}`],
    ])}
    <h2>Tokens</h2>
    ${table(
      'By what they were for',
      [
        { title: 'For' },
        ...['Longest prompt', 'Read', 'Cached', 'Cache written', 'Written', 'Reasoning', 'Images'].map(
          (title) => ({
            title,
            isNumber: true,
          }),
        ),
      ],
      record.parts.map(({ purpose, prompt, tokens }) => [
        purpose.replace('_', ' '),
        count(prompt),
        count(tokens.input),
        count(tokens.cached),
        count(tokens.cacheWrite),
        count(tokens.output),
        count(tokens.reasoning),
        count(tokens.image),
      ]),
    )}
    ${
      Object.keys(record.stages).length === 0
        ? undefined
        : facts(
            Object.entries(record.stages).map(
              ([stage, us]) => [stage, `${(us / 1000).toFixed(2)} ms`] as const,
            ),
          )
    }
  `;
}
