import { randomBytes } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { locate } from './locate.mjs';
import { freePort, Program } from './program.mjs';

/** As a queue needs it: what was accepted is on disk, and nothing is thrown away when memory is short. */
const SETTINGS = ['--appendonly', 'yes', '--maxmemory-policy', 'noeviction', '--save', ''];
/** Marks a database of a Redis that others use too as ours. */
const CLAIM = 'turnpike:services:claim';
const CLAIM_SECONDS = 3_600;

/**
 * A Redis of one's own: a server in a temporary folder, or an empty database of the one that REDIS_URL names.
 * @param own a server, also where there is a REDIS_URL
 */
export async function startRedis({ own = false } = {}) {
  const place = locate('redis', { own });
  if (place.url !== undefined) return claimDatabase(place.url);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-redis-')));
  const port = await freePort();
  const program = new Program({
    ...launch(place, port, folder),
    answers: () => withClient(`redis://127.0.0.1:${port}`, (client) => client.ping()),
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await program.start();
  } catch (thrown) {
    remove();
    throw thrown;
  }
  return {
    url: `redis://127.0.0.1:${port}/0`,
    folder,
    start: () => program.start(),
    stop: () => program.end('SIGTERM'),
    kill: () => program.end('SIGKILL'),
    async remove() {
      await program.end('SIGKILL');
      remove();
    },
  };
}

function launch({ folder: programs, image }, port, folder) {
  if (image === undefined) {
    const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    return {
      launch: {
        command: join(programs, 'redis-server'),
        args: [...address, ...SETTINGS],
        options: { cwd: folder },
      },
    };
  }
  const container = `turnpike-redis-${port}`;
  const args = ['run', '--rm', '--name', container, '-p', `127.0.0.1:${port}:6379`, '-v', `${folder}:/data`];
  return {
    container,
    launch: { command: 'docker', args: [...args, image, 'redis-server', ...SETTINGS], options: {} },
  };
}

/** An empty database of a server that runs; it is emptied again when it is given back. */
async function claimDatabase(url) {
  const foreign = async () => {
    throw new Error('REDIS_URL names a server that others use: it cannot be stopped and started from here');
  };
  for (let index = 0; index < 16; index++) {
    const target = new URL(url);
    target.pathname = `/${index}`;
    const token = randomBytes(8).toString('hex');
    const claimed = await withClient(target.href, async (client) => {
      if ((await client.dbsize()) > 0) return false;
      return (await client.set(CLAIM, token, 'EX', CLAIM_SECONDS, 'NX')) === 'OK';
    });
    if (!claimed) continue;
    const remove = () => withClient(target.href, (client) => client.flushdb());
    return { url: target.href, folder: undefined, start: foreign, stop: foreign, kill: foreign, remove };
  }
  throw new Error('The Redis of REDIS_URL has no empty database, of 0 to 15');
}

async function withClient(url, use) {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    // ioredis waits that long for a socket that is closed already, and holds the process up.
    disconnectTimeout: 100,
  });
  // What goes wrong is thrown by the call itself.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}
