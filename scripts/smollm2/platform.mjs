// An engine with a real model, and a gateway in front of it, as processes of their own.
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const MODEL = 'smollm2';
/** What SmolLM2 was trained with. */
export const CONTEXT_TOKENS = 8192;
/**
 * How SmolLM2 is written and read: models.NAME.format of the configuration. Not 'smollm2', which begins with the words of its
 * chat template: in 4 bits it answers better without them.
 */
export const FORMAT = 'chatml';
const MAIN = {
  engine: fileURLToPath(new URL('../../dist/apps/engine/apps/engine/src/main.js', import.meta.url)),
  gateway: fileURLToPath(new URL('../../dist/apps/gateway/apps/gateway/src/main.js', import.meta.url)),
};

/**
 * Resolves when both are ready.
 * @param gguf path of the model
 * @param format how it is written and read
 * @param settings more of the gateway's configuration
 * @param gatewayOutput gets what the gateway prints
 */
export async function startPlatform({
  gguf,
  format = FORMAT,
  context = CONTEXT_TOKENS,
  settings = {},
  gatewayOutput,
}) {
  if (!statSync(gguf, { throwIfNoEntry: false })?.isFile()) throw new Error(`${gguf} is not a file`);
  const engine = fork(MAIN.engine, [
    ...['--gguf', gguf, '--model', MODEL, '--context', `${context}`, '--port', '0'],
  ]);
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-smollm2-'));
  const stop = async () => {
    await Promise.all([end(gateway), end(engine)]);
    rmSync(folder, { recursive: true, force: true });
  };
  let gateway;
  try {
    const engineUrl = await engineReady(engine);
    const config = join(folder, 'turnpike.yaml');
    const served = { engine: 'llama', format, tokenizer: gguf, contextTokens: context };
    const engines = { llama: { url: engineUrl, kind: 'vllm', structuredOutputs: false } };
    // JSON is YAML as well.
    writeFileSync(config, JSON.stringify({ engines, models: { [MODEL]: served }, ...settings }));
    gateway = spawn(process.execPath, [MAIN.gateway, '--config', config], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await gatewayReady(gateway, gatewayOutput);
    return { url, engineUrl, engine, gateway, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The engine's URL. */
function engineReady(engine) {
  return new Promise((resolve, reject) => {
    engine.once('message', ({ url }) => resolve(url));
    // It has said itself what was wrong.
    engine.once('exit', (code) => reject(new Error(`the engine ended with ${code}`)));
  });
}

/** The gateway's URL, once it takes requests. */
function gatewayReady(gateway, output) {
  let text = '';
  return new Promise((resolve, reject) => {
    gateway.stdout.on('data', (chunk) => {
      output?.(chunk);
      text += chunk;
      const url = /ready on (http:\/\/[^\s/]+)/.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    });
    gateway.once('exit', (code) => reject(new Error(`the gateway ended with ${code}`)));
  });
}

function end(child) {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  return gone;
}
