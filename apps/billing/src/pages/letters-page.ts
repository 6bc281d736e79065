import type { DeadLetterRow } from '@turnpike/ledger';
import type { LetterState } from '../billing-queries.js';
import { html, type Html } from '../http/html.js';
import type { Session } from '../http/sessions.js';
import { facts, moment, tokenField } from './layout.js';

const NAMES: Readonly<Record<LetterState, string>> = {
  open: 'Waiting for a decision',
  booked: 'Booked after all',
  written_off: 'Written off',
};

/** What could not be booked, with what can be decided about it. */
export function lettersBody(
  letters: readonly DeadLetterRow[],
  state: LetterState,
  session: Session,
  error?: string,
): Html {
  const tabs = (Object.keys(NAMES) as LetterState[]).map((each) =>
    each === state
      ? html`<strong aria-current="page">${NAMES[each]}</strong> `
      : html`<a href="/dead-letters?state=${each}">${NAMES[each]}</a> `,
  );
  return html`
    <p>${tabs}</p>
    ${error === undefined ? undefined : html`<p class="error" role="alert">${error}</p>`}
    ${letters.length === 0 ? html`<p class="empty">None.</p>` : undefined}
    ${letters.map((letter) => letterOf(letter, session))}
  `;
}

function letterOf(letter: DeadLetterRow, session: Session): Html {
  return html`<section aria-label="${letter.id}">
    <h2>${letter.reason}</h2>
    ${facts([
      ['Id', letter.id],
      ['Found in', letter.job],
      ['Failed', moment(letter.failed_at)],
      ['Tenant', letter.tenant ?? undefined],
      [
        'Response',
        letter.response_id === null
          ? undefined
          : html`<a href="/response?id=${encodeURIComponent(letter.response_id)}">${letter.response_id}</a>`,
      ],
      ['Decision', letter.resolution ?? undefined],
      ['By', letter.author ?? undefined],
      ['At', moment(letter.resolved_at)],
    ])}
    <details>
      <summary>Record</summary>
      <pre>${letter.payload}</pre>
    </details>
    ${letter.state === 'open' ? decision(letter, session) : undefined}
  </section>`;
}

function decision({ id }: DeadLetterRow, session: Session): Html {
  const path = `/dead-letters/${encodeURIComponent(id)}`;
  return html`<form class="decision" method="post" action="${path}/retry">
    ${tokenField(session)}
    <label>Reason <input name="reason" required maxlength="500" size="50" /></label>
    <button>Book it now</button>
    <button class="quiet" formaction="${path}/write-off">Write it off</button>
  </form>`;
}
