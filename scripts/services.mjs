// Brings up a real Redis and a real Postgres, for tests and for trying things out.
import { spawn } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { startPostgres } from './services/postgres.mjs';
import { startRedis } from './services/redis.mjs';

export { locate } from './services/locate.mjs';
export { startPostgres, startRedis };

const HELP = `Brings up a Redis and a Postgres of its own, which end and are forgotten with it

Usage: npm run services -- [--] [COMMAND...]

Without a command their URLs are printed, and they run until Ctrl+C. A command is run with REDIS_URL and DATABASE_URL set,
and its exit code is this program's:

  npm run services -- npm start

Where they come from, the first that there is: REDIS_URL and DATABASE_URL, programs that are installed (Postgres comes with
npm ci), the distribution's package (as root, with apt-get), Docker.
`;

async function main([...command]) {
  if (command[0] === '--help') return process.stdout.write(HELP);
  if (command[0] === '--') command.shift();
  const services = [];
  try {
    const redis = await startRedis();
    services.push(redis);
    const postgres = await startPostgres();
    services.push(postgres);
    const environment = { REDIS_URL: redis.url, DATABASE_URL: await postgres.database() };
    process.exitCode = await run(command, environment);
  } finally {
    await Promise.all(services.map((each) => each.remove()));
  }
}

/** Runs the command, or waits for a signal; resolves with the exit code. */
function run([program, ...args], environment) {
  return new Promise((resolve, reject) => {
    if (program === undefined) {
      for (const [name, value] of Object.entries(environment)) process.stdout.write(`${name}=${value}\n`);
      const alive = setInterval(() => undefined, 60_000);
      for (const signal of ['SIGINT', 'SIGTERM']) {
        process.once(signal, () => {
          clearInterval(alive);
          resolve(0);
        });
      }
      return;
    }
    const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
    // A terminal sends its signals to the command as well.
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main(process.argv.slice(2)).catch((thrown) => {
    process.stderr.write(`${thrown.message}\n`);
    process.exitCode = 1;
  });
}
