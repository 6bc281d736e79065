import { DECISION_KINDS } from '@turnpike/ledger';
import { randomUUID } from 'node:crypto';
import { html, type Html } from '../http/html.js';
import type { Session } from '../http/sessions.js';
import { tokenField } from './layout.js';

/** Fields of the form, as they are sent. */
export type DecisionForm = Readonly<Partial<Record<string, string>>>;

const NAMES: Readonly<Record<(typeof DECISION_KINDS)[number], string>> = {
  payment: 'Payment: the tenant has paid',
  refund: 'Refund: it gets back what was charged',
  write_off: 'Write-off: it will not pay',
};

/** Of a form that was sent and not booked, what was filled in. An id of its own books it once, however often it is sent. */
export function decisionBody(session: Session, given: DecisionForm = {}, error?: string): Html {
  const field = (name: string, title: string, size: number, isRequired = true) =>
    html`<label
      >${title}
      <input name="${name}" value="${given[name]}" size="${size}" ${isRequired ? html`required` : undefined}
    /></label>`;
  return html`
    ${error === undefined ? undefined : html`<p class="error" role="alert">${error}</p>`}
    <form class="decision" method="post" action="/decisions">
      ${tokenField(session)}
      <input type="hidden" name="id" value="${given['id'] ?? randomUUID()}" />
      <label
        >Kind
        <select name="kind">
          ${DECISION_KINDS.map((kind) =>
            kind === given['kind']
              ? html`<option value="${kind}" selected>${NAMES[kind]}</option>`
              : html`<option value="${kind}">${NAMES[kind]}</option>`,
          )}
        </select>
      </label>
      ${field('tenant', 'Tenant', 20)} ${field('amount_usd', 'Dollars', 12)}
      ${field('response_id', 'Response, where it is about one', 60, false)} ${field('reason', 'Reason', 50)}
      <button>Book it</button>
    </form>
    <p class="note">It is an entry of the ledger, with its reason and your key, and is never changed.</p>
  `;
}

/** What the form says, as the API would be asked; what is left empty is left out. */
export function decisionFields(form: URLSearchParams): DecisionForm {
  const fields = [...form].filter(([name, value]) => name !== 'token' && value.trim() !== '');
  return Object.fromEntries(fields);
}
