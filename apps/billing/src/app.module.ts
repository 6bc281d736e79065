import { Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { KeyRing, SqlAccess } from '@turnpike/access';
import { Booker, DeadLetters, Ledger } from '@turnpike/ledger';
import type { StoreSchema } from '@turnpike/storage';
import { log } from '@turnpike/telemetry';
import type { Kysely } from 'kysely';
import { BillingQueries } from './billing-queries.js';
import { Actors } from './http/actors.js';
import { ApiController } from './http/api.controller.js';
import { HealthController } from './http/health.controller.js';
import { Sessions } from './http/sessions.js';
import { LoginController } from './pages/login.controller.js';
import { PagesController } from './pages/pages.controller.js';
import { QueueService } from './queue/queue.service.js';
import type { Settings } from './settings.js';
import { DATABASE, HAS_QUEUE, SETTINGS } from './tokens.js';

/** Keys are looked at until the application ends. */
class KeyRingLifetime implements OnApplicationShutdown {
  constructor(private readonly keys: KeyRing) {}

  onApplicationShutdown(): Promise<void> {
    return this.keys.stop();
  }
}

/** Everything about money, wired from its settings and the database of the gateways. */
@Module({})
export class AppModule {
  static register(settings: Settings, db: Kysely<StoreSchema>): DynamicModule {
    const { kind } = settings.database;
    return {
      module: AppModule,
      controllers: [ApiController, HealthController, LoginController, PagesController],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: DATABASE, useValue: db },
        { provide: HAS_QUEUE, useValue: settings.redisUrl !== undefined },
        { provide: Ledger, useFactory: () => Ledger.open(db, kind) },
        { provide: DeadLetters, inject: [Ledger], useFactory: (ledger: Ledger) => new DeadLetters(ledger) },
        {
          provide: Booker,
          inject: [Ledger, DeadLetters],
          useFactory: (ledger: Ledger, letters: DeadLetters) => new Booker(ledger, letters),
        },
        { provide: SqlAccess, useFactory: () => SqlAccess.open(db, kind) },
        { provide: KeyRing, inject: [SqlAccess], useFactory: keysOf },
        {
          provide: KeyRingLifetime,
          inject: [KeyRing],
          useFactory: (keys: KeyRing) => new KeyRingLifetime(keys),
        },
        { provide: Sessions, useFactory: () => new Sessions() },
        Actors,
        BillingQueries,
        QueueService,
      ],
    };
  }
}

async function keysOf(source: SqlAccess): Promise<KeyRing> {
  const keys = new KeyRing([], {
    source,
    onFailure: (error) => log.error({ err: error }, 'keys could not be brought up to date'),
  });
  await keys.start();
  return keys;
}
