import { Inject, Injectable } from '@nestjs/common';
import { SqlAccess } from '@turnpike/access';
import {
  bookDecision,
  DeadLetters,
  emptyInvoice,
  invoiceFor,
  Ledger,
  moneyStory,
  reconcile,
  usageSums,
  type Balance,
  type Decided,
  type DeadLetterRow,
  type Invoice,
  type MoneyStory,
  type Reconciliation,
  type UsageSum,
} from '@turnpike/ledger';
import { ApiError, quotable } from '@turnpike/protocol';
import { isUnreachable } from '@turnpike/storage';
import { hasControls } from './controls.js';
import type { Actor } from './http/actors.js';
import { QueueService } from './queue/queue.service.js';
import type { InvoiceQuery, UsageQuery } from './usage-query.js';

const REASON_MOST = 500;

export type LetterState = 'open' | 'booked' | 'written_off';

/** What is asked about money, with who may know it: a tenant what is its own, an operator everything. */
@Injectable()
export class BillingQueries {
  constructor(
    @Inject(Ledger) private readonly ledger: Ledger,
    @Inject(DeadLetters) private readonly deadLetters: DeadLetters,
    @Inject(QueueService) private readonly queue: QueueService,
    @Inject(SqlAccess) private readonly access: SqlAccess,
  ) {}

  /** Another tenant's usage is what no usage is: nothing. */
  async usage({ tenant }: Actor, { by, filter }: UsageQuery): Promise<readonly UsageSum[]> {
    if (tenant !== undefined && filter.tenant !== undefined && filter.tenant !== tenant) return [];
    return usageSums(this.ledger.db, by, { ...filter, tenant: tenant ?? filter.tenant });
  }

  /** Of a tenant that is another's, as of one that used nothing: an invoice without lines. */
  async invoice({ tenant: own }: Actor, { tenant, from, to }: InvoiceQuery): Promise<Invoice> {
    if (own !== undefined && tenant !== own) return emptyInvoice(tenant, from, to);
    return invoiceFor(this.ledger.db, tenant, from, to);
  }

  /** What tenants owe, in the order of their names. */
  async balances({ tenant }: Actor): Promise<readonly (Balance & { readonly tenant: string })[]> {
    const balances = await this.ledger.balances('tenant:');
    return balances
      .map((balance) => ({ ...balance, tenant: balance.account.slice('tenant:'.length) }))
      .filter((balance) => tenant === undefined || balance.tenant === tenant);
  }

  /** @throws ApiError response_not_found for one that is not known, or is another tenant's */
  async story({ tenant }: Actor, id: string): Promise<MoneyStory> {
    if (hasControls(id)) throw nothingKnown(id);
    const story = await moneyStory(this.ledger.db, id);
    const owners = [
      story.record?.tenant,
      story.hold?.tenant,
      ...story.transactions.map((each) => each.tenant),
      ...story.deadLetters.map((each) => each.tenant ?? undefined),
    ].filter((owner) => owner !== undefined);
    if (owners.length === 0 || (tenant !== undefined && owners.some((owner) => owner !== tenant))) {
      throw nothingKnown(id);
    }
    return story;
  }

  /** For operators: store, queue and ledger compared. Journals are on the disks of gateways. */
  reconciliation(): Promise<Reconciliation> {
    return reconcile(this.ledger, async () => ({
      journal: undefined,
      queue: await this.queue.pending(),
      spool: new Map(),
    }));
  }

  /**
   * For operators: books a payment, a refund or a write-off, once for an id.
   * @throws ApiError naming the field at fault
   */
  decide({ principal }: Actor, fields: unknown): Promise<Decided> {
    return bookDecision(this.ledger, fields, {
      author: principal.key,
      isTenant: async (id) => (await this.access.tenant(id)) !== undefined,
    });
  }

  /** For operators: what it holds can be of any tenant, or of none. */
  letters(state: LetterState | undefined): Promise<readonly DeadLetterRow[]> {
    return this.deadLetters.list(state);
  }

  /** How many wait for a decision, up to a hundred. */
  async openLetters(): Promise<number> {
    return (await this.deadLetters.list('open')).length;
  }

  /**
   * Books a dead letter after all.
   * @throws ApiError invalid_value when it is not open, or still cannot be booked
   */
  async retry({ principal }: Actor, id: string, reason: string | null): Promise<void> {
    const resolution = { author: principal.key, reason: reasonOf(reason) };
    if (hasControls(id)) throw notOpen(id);
    let isDone: boolean;
    try {
      isDone = await this.deadLetters.retry(id, resolution);
    } catch (thrown) {
      if (isUnreachable(thrown)) throw thrown;
      const message = `It still cannot be booked: ${(thrown as Error).message}`;
      throw new ApiError('invalid_value', { param: 'id', message, cause: thrown });
    }
    if (!isDone) throw notOpen(id);
  }

  /** Gives a dead letter up, which is a ledger entry with the reason. @throws ApiError invalid_value when it is not open */
  async writeOff({ principal }: Actor, id: string, reason: string | null): Promise<void> {
    const resolution = { author: principal.key, reason: reasonOf(reason) };
    if (hasControls(id) || !(await this.deadLetters.writeOff(id, resolution))) throw notOpen(id);
  }
}

function nothingKnown(id: string): ApiError {
  const message = `Nothing is known of the money of response '${quotable(id)}'.`;
  return new ApiError('response_not_found', { param: 'response_id', message });
}

function reasonOf(reason: string | null): string {
  const text = reason?.trim() ?? '';
  if (text === '') {
    throw new ApiError('missing_required_parameter', { param: 'reason', message: "A 'reason' is required." });
  }
  if (text.length > REASON_MOST) {
    const message = `A reason has at most ${REASON_MOST} characters.`;
    throw new ApiError('invalid_value', { param: 'reason', message });
  }
  if (hasControls(text)) {
    throw new ApiError('invalid_value', { param: 'reason', message: 'A reason is one line of text.' });
  }
  return text;
}

function notOpen(id: string): ApiError {
  return new ApiError('not_found', {
    param: 'id',
    message: `There is no dead letter '${quotable(id)}' that waits for a decision.`,
  });
}
