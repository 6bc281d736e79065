import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { locate } from './locate.mjs';
import { freePort, Program } from './program.mjs';

/** Without rights on every Unix; Postgres refuses to run as root. */
const NOBODY = 65_534;
const AS_USER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const USER = 'turnpike';
/** A process that is killed loses nothing by it; only a machine that loses its power would. */
const SETTINGS = ['-c', 'fsync=off'];

/**
 * A Postgres that databases can be made in: a server in a temporary folder, or the one that DATABASE_URL names.
 * @param own a server, also where there is a DATABASE_URL
 */
export async function startPostgres({ own = false } = {}) {
  const place = locate('postgres', { own });
  if (place.url !== undefined) return useServer(place.url);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-postgres-')));
  if (AS_USER.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
  const port = await freePort();
  const url = `postgres://${USER}@127.0.0.1:${port}/postgres`;
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const program = new Program({
      ...launch(place, port, folder),
      answers: () => query(url, 'select 1'),
    });
    await program.start();
    return {
      folder,
      database: () => newDatabase(url),
      start: () => program.start(),
      // What it calls an immediate shutdown: whoever is connected is cut off, and the next start recovers as from a crash.
      stop: () => program.end('SIGQUIT'),
      kill: () => program.end('SIGQUIT'),
      pause: () => program.pause(),
      resume: () => program.resume(),
      async remove() {
        program.resume();
        await program.end('SIGQUIT');
        remove();
      },
    };
  } catch (thrown) {
    remove();
    throw thrown;
  }
}

function launch({ folder: programs, image }, port, folder) {
  const data = join(folder, 'data');
  if (image === undefined) {
    if (!existsSync(data)) makeCluster(programs, data, folder);
    const settings = ['-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c', `port=${port}`, ...SETTINGS];
    return {
      launch: {
        command: join(programs, 'postgres'),
        args: ['-D', data, ...settings],
        options: { ...AS_USER, cwd: folder },
      },
    };
  }
  mkdirSync(data);
  const container = `turnpike-postgres-${port}`;
  const args = ['run', '--rm', '--name', container, '-p', `127.0.0.1:${port}:5432`];
  const settings = [`POSTGRES_USER=${USER}`, 'POSTGRES_DB=postgres', 'POSTGRES_HOST_AUTH_METHOD=trust'];
  args.push(...settings.flatMap((each) => ['-e', each]), '-v', `${data}:/var/lib/postgresql/data`);
  return {
    container,
    launch: { command: 'docker', args: [...args, image, 'postgres', ...SETTINGS], options: {} },
  };
}

function makeCluster(programs, data, folder) {
  const options = ['-D', data, '-A', 'trust', '-U', USER, '-E', 'UTF8', '--locale=C', '--no-sync'];
  const made = spawnSync(join(programs, 'initdb'), options, { ...AS_USER, cwd: folder, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
}

/** The databases made here go when it is given back; the server stays as it is. */
function useServer(url) {
  const made = [];
  const foreign = async () => {
    throw new Error(
      'DATABASE_URL names a server that others use: it cannot be stopped and started from here',
    );
  };
  return {
    folder: undefined,
    async database() {
      const fresh = await newDatabase(url);
      made.push(new URL(fresh).pathname.slice(1));
      return fresh;
    },
    start: foreign,
    stop: foreign,
    kill: foreign,
    pause: foreign,
    resume: foreign,
    async remove() {
      for (const name of made.splice(0)) await query(url, `drop database if exists ${name} with (force)`);
    },
  };
}

async function newDatabase(url) {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(url, `create database ${name}`);
  const target = new URL(url);
  target.pathname = `/${name}`;
  return target.href;
}

async function query(url, text) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  // A server that ends breaks the connection; the query itself says so.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(text);
  } finally {
    await client.end().catch(() => undefined);
  }
}
