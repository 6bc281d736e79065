import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFolder } from '../version.js';
import { type NodeLlamaCpp } from './node-llama-cpp.js';

/** Pinned: node-llama-cpp.ts describes this version. */
const VERSION = '3.21.1';
const HEARTBEAT_MS = 5_000;

/** The package with the programs for one kind of machine, without those for graphics cards. */
const PLATFORMS: Readonly<Record<string, string>> = {
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'linux-arm': 'linux-armv7l',
  'linux-arm64': 'linux-arm64',
  'linux-riscv64': 'linux-riscv64',
  'linux-x64': 'linux-x64',
  'win32-arm64': 'win-arm64',
  'win32-x64': 'win-x64',
};

/** Where and how the package is installed; tests bring their own. */
export interface Installation {
  /** Folder of everything that is fetched once and kept. */
  readonly cache: string;
  /** As in process.platform and process.arch. */
  readonly machine: string;
  /** Gets a line about what goes on. */
  readonly say: (line: string) => void;
  /** Runs npm. @throws Error when it fails */
  readonly npm: (args: readonly string[]) => Promise<void>;
}

/** As it is for users: below .cache of the project. */
export function defaultInstallation(say: (line: string) => void): Installation {
  return {
    cache: join(packageFolder(), '.cache'),
    machine: `${process.platform}-${process.arch}`,
    say,
    npm: runNpm,
  };
}

/**
 * node-llama-cpp, installed first where it is not there yet. It is no dependency of the project because it is needed for
 * models in GGUF files only, and a plain install of it brings 650 MB of programs for graphics cards.
 * @throws Error that says what to do when it cannot be installed
 */
export async function loadNodeLlamaCpp(installation: Installation): Promise<NodeLlamaCpp> {
  const folder = await install(installation);
  const entry = join(folder, 'node_modules/node-llama-cpp/dist/index.js');
  return (await import(pathToFileURL(entry).href)) as NodeLlamaCpp;
}

/** The folder that it is installed in. */
async function install({ cache, machine, say, npm }: Installation): Promise<string> {
  const platform = PLATFORMS[machine];
  if (platform === undefined) throw new Error(`node-llama-cpp ${VERSION} has no program for ${machine}`);
  const folder = join(cache, `node-llama-cpp-${VERSION}-${platform}`);
  if (existsSync(folder)) return folder;
  say(`installing node-llama-cpp ${VERSION} for ${platform} (about 85 MB, once) ...`);
  mkdirSync(dirname(folder), { recursive: true });
  // Made beside its place and then moved, so that an install that breaks off is never taken for one that is whole.
  const fresh = mkdtempSync(`${folder}-`);
  const started = Date.now();
  const seconds = (): number => Math.round((Date.now() - started) / 1000);
  const heartbeat = setInterval(() => say(`... still installing after ${seconds()} s`), HEARTBEAT_MS);
  try {
    await npm([
      'install',
      '--prefix',
      fresh,
      '--omit=optional',
      // Its script would look for a compiler; the programs are prebuilt.
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--save-exact',
      `node-llama-cpp@${VERSION}`,
      `@node-llama-cpp/${platform}@${VERSION}`,
    ]);
    if (!existsSync(folder)) renameSync(fresh, folder);
    say(`node-llama-cpp ${VERSION} is installed (${seconds()} s)`);
    return folder;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `node-llama-cpp ${VERSION} could not be installed: ${reason}. It comes from npm's registry, once; ` +
        `a machine without network can be given the folder ${folder} of another one.`,
      { cause: error },
    );
  } finally {
    clearInterval(heartbeat);
    rmSync(fresh, { recursive: true, force: true });
  }
}

function runNpm(args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // On Windows npm is a script, which only a shell runs; the arguments are our own, but for a folder.
    const shell = process.platform === 'win32';
    const child = spawn('npm', shell ? args.map((arg) => `"${arg}"`) : [...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      shell,
    });
    child.once('error', (error) => reject(new Error(`npm cannot be run (${error.message})`)));
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ended with ${code}`));
    });
  });
}
