import { Inject, Injectable, type Provider } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import { Booker, DeadLetters, SqlHolds } from '@turnpike/ledger';
import {
  DEFAULT_PRICES,
  Journals,
  Meter,
  PriceBook,
  PriceBookError,
  Relay,
  UsageQueue,
  type TurnMeter,
  type JournalFault,
  type JournalReader,
} from '@turnpike/metering';
import { readFileSync } from 'node:fs';
import { repeat, type Repeated } from '../background/repeat.js';
import { ConfigError } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { log, shownError } from '../log.js';
import { CONFIG, METER, METERED_TURNS, PRICES, STORES } from '../tokens.js';
import type { Stores } from '../stores.js';
import { showState } from './billing-metrics.js';
import { Budgets } from './budgets.js';
import { ModelNames } from './model-names.js';
import { requirePricesOfModels, withoutPrice } from './priced-models.js';

/** How long a hold lasts without its gateway: after a crash what it held is free again within a minute. */
const HOLD_LEASE_MS = 30_000;
const RENEW_MS = 10_000;
const SWEEP_MS = 5_000;
/** How often journals of gateways that died are looked for, in ms. */
const ADOPT_MS = 10_000;

export type MeteredTurns = Map<string, TurnMeter>;

/** @throws ConfigError when the price book cannot be used */
export function pricesOf(config: Config): PriceBook {
  const { prices } = config.billing;
  if (prices === undefined) return DEFAULT_PRICES;
  try {
    const book = PriceBook.parse(readFileSync(prices, 'utf8'));
    requirePricesOfModels(book, new ModelNames(config.models));
    return book;
  } catch (thrown) {
    if (thrown instanceof ConfigError) throw thrown;
    const { message } = thrown as Error;
    throw new ConfigError(
      thrown instanceof PriceBookError
        ? `billing.prices: ${message}`
        : `billing.prices: ${prices} cannot be read: ${message}`,
    );
  }
}

/**
 * The money of a gateway: its journal, what is held, and the relay to the ledger. Turns know the meter alone, and never wait
 * for what is behind it.
 */
@Injectable()
export class Billing {
  readonly meter: Meter;
  readonly #journals: Journals;
  readonly #relay: Relay;
  readonly #holds: SqlHolds;
  readonly #deadLetters: DeadLetters;
  readonly #queue: UsageQueue | undefined;
  #repeated: Repeated[] = [];

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(STORES) stores: Stores,
    @Inject(PRICES) prices: PriceBook,
    @Inject(METERED_TURNS) turns: MeteredTurns,
    @Inject(KeyRing) keys: KeyRing,
  ) {
    const { billing } = config;
    const { ledger, kind } = stores;
    this.#deadLetters = new DeadLetters(ledger);
    const booker = new Booker(ledger, this.#deadLetters);
    if (billing.redis !== undefined) {
      this.#queue = new UsageQueue({
        url: billing.redis,
        // The relay says what it means for the usage.
        onError: (error) => log.debug({ err: error }, 'redis connection failed'),
        missing: (ids) => ledger.missing(ids),
      });
    }
    this.#journals = this.#open(config, prices);
    this.#holds = new SqlHolds(ledger.db, {
      kind,
      leaseMs: HOLD_LEASE_MS,
      onShadow: ({ name }, { id, tenant, key }) =>
        log.warn({ budget: name, response: id, tenant, key }, 'a budget in shadow mode would have refused'),
    });
    this.#relay = new Relay({
      readers: () => this.#journals.readers,
      sink: this.#queue ?? {
        deliver: async (records, journal) => void (await booker.book(records, journal)),
      },
      onFailure: (error) => this.#delivered(error),
      onFault: (fault, reader) => this.#found(fault, reader),
      onLost: (records, { name: journal }) =>
        log.error({ records, journal }, 'the queue has lost usage, which is delivered again'),
      onEnd: (reader) => this.#journals.finished(reader),
    });
    const unpriced = billing.prices === undefined ? [] : withoutPrice(config, prices, Date.now());
    if (unpriced.length > 0)
      log.warn({ models: unpriced }, 'models without a price: their turns are not charged');
    const names = new ModelNames(config.models);
    this.meter = new Meter({
      turns,
      modelOf: (name) => names.modelOf(name),
      journal: this.#journals.own,
      prices,
      budgets: new Budgets(billing.budgets, keys, names),
      holds: this.#holds,
      progressTokens: billing.progressTokens,
      holdOutputTokens: billing.holdOutputTokens,
      onHoldFailure: (error) => log.error({ err: error }, 'a hold could not be changed'),
    });
    showState(() => ({
      journalBytes: this.#journals.bytes,
      journalLimit: billing.journalBytes,
      failure: this.#relay.failure,
    }));
    stores.beforeClose(() => this.#stop());
  }

  /** Begins to look after what others left behind, and what is held. Not before the server is sure to stay. */
  start(): void {
    const onFailure = (task: string) => (thrown: unknown) =>
      log.error({ err: thrown, task }, 'billing failed');
    this.#repeated = [
      repeat(ADOPT_MS, () => this.#journals.adopt(), onFailure('adopt')),
      repeat(RENEW_MS, () => this.#holds.renew(this.meter.held), onFailure('renew')),
      repeat(SWEEP_MS, () => this.#sweep(), onFailure('sweep')),
    ];
    this.#journals.adopt().catch(onFailure('adopt'));
  }

  #open({ billing }: Config, prices: PriceBook): Journals {
    try {
      return new Journals({
        root: billing.journal,
        maxBytes: billing.journalBytes,
        prices,
        onSettle: () => this.#relay.poke(),
        onFailure: (error) => {
          if (error === undefined) log.warn('the journal can be written to again');
          else log.fatal({ err: error }, 'the journal cannot be written to: no turn is taken');
        },
        onLost: (response) => log.warn({ response }, 'a turn was left behind by its gateway, and is settled'),
      });
    } catch (thrown) {
      throw new ConfigError(
        `billing.journal: ${billing.journal} cannot be used: ${shownError(thrown).message}`,
      );
    }
  }

  async #stop(): Promise<void> {
    await Promise.all(this.#repeated.map((each) => each.stop()));
    await this.#relay.stop();
    await this.#journals.close();
    await this.#queue?.close();
  }

  async #sweep(): Promise<void> {
    for (const response of await this.#holds.sweep()) {
      log.warn({ response }, 'a hold was left behind, and is released');
    }
  }

  #delivered(error: unknown): void {
    if (error === undefined) log.warn('usage reaches the ledger again');
    else log.error({ err: error }, 'usage does not reach the ledger; the journal keeps it');
  }

  async #found({ kind, segment, offset, detail, body }: JournalFault, reader: JournalReader): Promise<void> {
    const journal = reader.name;
    // A crash tears the end of a segment; nothing that was written is lost by that.
    const level = kind === 'torn' ? 'warn' : 'error';
    log[level]({ journal, segment, offset, detail, fault: kind }, 'the journal is not as it was written');
    if (body === undefined) return;
    const { record } = JSON.parse(body) as { record: unknown };
    await this.#deadLetters.add({
      job: `${journal}/${segment}`,
      payload: record,
      reason: detail ?? 'unreadable',
    });
  }
}

/** The meter of the turns, and what is behind it. */
export const billingProviders: Provider[] = [
  { provide: METERED_TURNS, useFactory: (): MeteredTurns => new Map() },
  { provide: PRICES, inject: [CONFIG], useFactory: pricesOf },
  Billing,
  { provide: METER, inject: [Billing], useFactory: ({ meter }: Billing) => meter },
];
