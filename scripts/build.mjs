// Builds all apps into dist/, beside a running instance if there is one: the new files are made in a folder of their
// own and take the place of the old ones when all of them are there. Nothing is done when dist/ is already what the
// sources give.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const APPS = ['billing', 'engine', 'gateway'];
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const DIST = join(ROOT, 'dist');
const BUILT = join(DIST, 'apps');
const FRESH = join(DIST, `.fresh-${process.pid}`);
const OLD = join(DIST, `.old-${process.pid}`);
/** In a finished build: what it was made of. */
const STAMP = '.sources';

/** A digest of everything that decides what a build gives. */
function sources() {
  const files = ['package-lock.json', 'tsconfig.json', 'nest-cli.json', 'scripts/build.mjs'];
  for (const folder of ['apps', 'libs']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true }).sort()) {
      if (/\.(ts|json|yaml)$/.test(name) && !name.endsWith('.test.ts')) files.push(join(folder, name));
    }
  }
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex');
}

function isBuilt(digest) {
  const stamp = join(BUILT, STAMP);
  return (
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === digest &&
    APPS.every((app) => existsSync(join(BUILT, app, 'apps', app, 'src/main.js')))
  );
}

function build(digest) {
  const apps = join(FRESH, 'apps');
  mkdirSync(apps, { recursive: true });
  for (const app of APPS) {
    const config = join(FRESH, `tsconfig.${app}.json`);
    const extended = join(ROOT, 'apps', app, 'tsconfig.app.json');
    writeFileSync(
      config,
      JSON.stringify({ extends: extended, compilerOptions: { outDir: join(apps, app) } }),
    );
    const nest = join(ROOT, 'node_modules/@nestjs/cli/bin/nest.js');
    const { status } = spawnSync(process.execPath, [nest, 'build', app, '--path', relative(ROOT, config)], {
      cwd: ROOT,
      stdio: 'inherit',
    });
    if (status !== 0) return false;
  }
  // Data that the compiler does not know of.
  cpSync(join(ROOT, 'libs/safety/packs'), join(apps, 'gateway/libs/safety/packs'), { recursive: true });
  writeFileSync(join(apps, STAMP), digest);
  if (existsSync(BUILT)) renameSync(BUILT, OLD);
  renameSync(apps, BUILT);
  return true;
}

// Taken before the build: what is changed while it runs is built the next time.
const digest = sources();
if (!isBuilt(digest)) {
  try {
    if (!build(digest)) process.exitCode = 1;
  } finally {
    rmSync(FRESH, { recursive: true, force: true });
    rmSync(OLD, { recursive: true, force: true });
  }
}
