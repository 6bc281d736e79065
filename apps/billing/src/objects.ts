import type { Decided, DeadLetterRow, MoneyStory, Reconciliation } from '@turnpike/ledger';
import { dollars } from '@turnpike/metering';

/** A story and dead letters as the API shows them: times in ms since the epoch, amounts exact, as text. */
export function storyObject(story: MoneyStory) {
  const { responseId, record, bookedAt, job, hold, transactions, deadLetters } = story;
  return {
    object: 'response.money',
    id: responseId,
    booked_at: bookedAt ?? null,
    job: job ?? null,
    amount_usd: record === undefined ? null : dollars(record.amount),
    record: record ?? null,
    hold:
      hold === undefined
        ? null
        : { state: hold.state, amount_usd: dollars(hold.amount), created_at: hold.created_at },
    transactions: transactions.map((each) => ({
      id: each.id,
      kind: each.kind,
      day: each.day,
      booked_at: each.booked_at,
      reason: each.reason,
      author: each.author,
      price_version: each.price_version,
      entries: each.entries.map(({ account, amount }) => ({ account, amount_usd: dollars(amount) })),
    })),
    dead_letters: deadLetters.map(letterObject),
  };
}

export function reconciliationObject({ turns, stored, differences, faults }: Reconciliation) {
  return {
    object: 'reconciliation',
    turns,
    stored,
    differences: differences.map(({ responseId, ...rest }) => ({ response_id: responseId, ...rest })),
    faults,
  };
}

export function decisionObject({ responseId, ...decided }: Decided) {
  return { object: 'decision', ...decided, response_id: responseId ?? null };
}

export function letterObject(letter: DeadLetterRow) {
  return {
    object: 'dead_letter',
    id: letter.id,
    job: letter.job,
    response_id: letter.response_id,
    tenant: letter.tenant,
    reason: letter.reason,
    state: letter.state,
    failed_at: letter.failed_at,
    resolved_at: letter.resolved_at,
    resolution: letter.resolution,
    author: letter.author,
    payload: letter.payload,
  };
}
