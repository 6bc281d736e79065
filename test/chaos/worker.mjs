// Takes usage from the queue into the ledger until it is killed.
import { Booker, DeadLetters, Ledger, UsageWorker } from '../../dist/apps/gateway/libs/ledger/src/index.js';
import { openDatabase } from '../../dist/apps/gateway/libs/storage/src/index.js';

const { DATABASE_URL = '', REDIS_URL = '' } = process.env;
const db = await openDatabase({ kind: 'postgres', url: DATABASE_URL }, () => undefined);
const ledger = await Ledger.open(db, 'postgres');
const booker = new Booker(ledger, new DeadLetters(ledger));
const worker = new UsageWorker({ url: REDIS_URL, booker, onError: () => undefined });
process.stdout.write(`worker ready: ${(await worker.health()) ?? 'ok'}\n`);
