// Turns on lanes, over both transports, with cancels and disconnects, while gateways, worker, Redis and Postgres are killed
// and started at random. Afterwards the ledger is compared with what the engine says it produced.
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres, startRedis } from '../../scripts/services.mjs';
import { runTurn, Told } from './client.mjs';
import { booksOf, compare, producedBy } from './compare.mjs';
import { Child, gatewayFolder } from './processes.mjs';
import { stopAndMeasure } from './unread.mjs';

/** Tokens a second of the engine, and tokens between two progress records. */
const TPS = 60;
const PROGRESS_TOKENS = 16;
const CLIENTS = 12;
/** How long everything that was settled may take to be booked once nothing is broken any more, in ms. */
const DRAIN_MS = 90_000;

/** Numbers that look random and are the same for the same seed (mulberry32). */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Runs so many turns; see chaos.d.mts. */
export async function runChaos({ turns, seed = 1, say = () => undefined }) {
  const random = generator(seed);
  const redis = await startRedis({ own: true });
  const postgres = await startPostgres({ own: true });
  const databaseUrl = await postgres.database();
  const engine = new Child({
    app: 'engine',
    args: ['--port', '0', '--tps', String(TPS), '--ttft-ms', '5'],
  });
  await engine.start();
  const place = gatewayFolder(engine.url, PROGRESS_TOKENS);
  const env = { DATABASE_URL: databaseUrl, REDIS_URL: redis.url };
  const gateways = [0, 1].map(
    () => new Child({ app: 'gateway', args: ['--config', 'turnpike.yaml'], env, cwd: place.folder }),
  );
  const worker = new Child({ app: 'billing', env: { ...env, PORT: '0' } });
  try {
    await Promise.all([...gateways, worker].map((each) => each.start()));
    const faults = new Faults({ random, engine, gateways, worker, redis, postgres, say });
    const told = await runTurns({ turns, random, gateways, faults, say });
    await faults.stop();
    const report = await settled({ engine, databaseUrl, told, deaths: faults.deaths, say });
    // Only we end processes here.
    for (const { crashes } of [engine, worker, ...gateways]) {
      report.unexplained += crashes.length;
      report.details.push(...crashes);
    }
    return { turns, seed, kills: faults.counts, ...report };
  } finally {
    await Promise.all([...gateways, worker, engine].map((each) => each.kill()));
    await Promise.all([redis.remove(), postgres.remove()]);
    place.remove();
  }
}

/** Breaks one thing after another. */
class Faults {
  counts = { gateway: 0, worker: 0, redis: 0, postgres: 0 };
  /** For each kill of a gateway, how many tokens it had read, by response id. */
  deaths = [];
  #parts;
  #isStopped = false;
  #running;

  constructor(parts) {
    this.#parts = parts;
  }

  /** Of the faults that a run has at least, how many are over or happen now. */
  get share() {
    const { gateway, worker, redis, postgres } = this.counts;
    return (gateway + worker + redis + postgres + 1) / 6;
  }

  begin() {
    this.#running ??= this.#run();
  }

  async stop() {
    this.#isStopped = true;
    await this.#running;
  }

  async #run() {
    const { random, engine, gateways, worker, redis, postgres, say } = this.#parts;
    // Most of them short, some long.
    const pause = () => sleep(100 + random() ** 3 * 2_400);
    const restart = async (name, stop, start) => {
      say(`${name} is killed`);
      await stop();
      await pause();
      await start();
      this.counts[name]++;
    };
    const restartGateway = (gateway) =>
      restart(
        'gateway',
        async () => {
          this.deaths.push(await stopAndMeasure(gateway, engine.url));
          await gateway.kill();
        },
        () => gateway.start(),
      );
    const each = [
      () => restartGateway(gateways[0]),
      () =>
        restart(
          'worker',
          () => worker.kill(),
          () => worker.start(),
        ),
      () =>
        restart(
          'redis',
          () => redis.kill(),
          () => redis.start(),
        ),
      () => restartGateway(gateways[1]),
      () =>
        restart(
          'postgres',
          () => postgres.kill(),
          () => postgres.start(),
        ),
    ];
    for (let next = 0; !this.#isStopped; next++) {
      await pause();
      // Each of them in turn at first, so that a short run has them all.
      await each[next < each.length ? next : Math.floor(random() * each.length)]();
    }
  }
}

async function runTurns({ turns, random, gateways, faults, say }) {
  const told = new Told();
  let begun = 0;
  let running = 0;
  const client = async () => {
    while (begun + running < turns) {
      // A short run is spread over every kind of fault.
      if (begun + running >= turns * faults.share) {
        await sleep(50);
        continue;
      }
      running++;
      const gateway = gateways[Math.floor(random() * gateways.length)];
      const began = await runTurn({ url: gateway.url, random, told });
      running--;
      if (!began) await sleep(50);
      else if (++begun % 100 === 0) say(`${begun} turns`);
    }
  };
  faults.begin();
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return told;
}

/** Waits until the ledger has everything, at most so long, and compares. */
async function settled({ engine, databaseUrl, told, deaths, say }) {
  const deadline = Date.now() + DRAIN_MS;
  for (;;) {
    const state = await (await fetch(`${engine.url}/debug/state`)).json();
    const produced = producedBy(await (await fetch(`${engine.url}/debug/usage.csv`)).text());
    const books = await booksOf(databaseUrl);
    const missing = [...produced.keys()].filter((id) => !books.rows.has(id)).length;
    if ((state.running === 0 && missing === 0) || Date.now() > deadline) {
      return compare({ produced, books, told, progressTokens: PROGRESS_TOKENS, deaths });
    }
    say(`${missing} turns are not in the ledger yet`);
    await sleep(500);
  }
}
