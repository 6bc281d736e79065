import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { png } from '../../libs/images/testing/samples.js';
import { App, FAST } from '../e2e/platform.js';
import type { Markers } from './markers.js';
import { FaultyEngine } from './workload/faulty-engine.js';
import { Run } from './workload/run.js';

/** Whose key everything is done with. */
export const TENANT = 'tenant';

/** A gateway with its engines, all of whose files are in one folder. */
export class RetentionPlatform {
  readonly #folder = mkdtempSync(join(tmpdir(), 'turnpike-retention-'));
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #apps: App[] = [];
  readonly #store: string;

  /** @param store line of the configuration */
  constructor(store: string) {
    this.#store = store;
    for (const name of ['work', 'tmp', 'home', 'engine']) mkdirSync(this.path(name));
  }

  /** Below the folder. */
  path(...names: readonly string[]): string {
    return join(this.#folder, ...names);
  }

  /** Everything that the gateway and its engine have written to stdout and stderr. */
  get output(): string {
    return this.#apps.map((app) => app.output()).join('');
  }

  /** Starts a gateway, and makes a run against it. */
  async start(markers: Markers, store: boolean): Promise<{ gateway: App; run: Run }> {
    const env = { TMPDIR: this.path('tmp'), HOME: this.path('home') };
    const engine = await App.start('engine', ['--port', '0', ...FAST], env, this.path('engine'));
    const faulty = await FaultyEngine.start();
    const images = await imageServer(markers.textOf('image_fetched'));
    const imagesHost = `127.0.0.1:${(images.address() as AddressInfo).port}`;
    const key = markers.passing('key');
    const config = this.path('turnpike.yaml');
    writeFileSync(
      config,
      [
        'port: 0',
        this.#store,
        `keys: [{ name: k, tenant: ${TENANT}, sha256: "${createHash('sha256').update(key).digest('hex')}" }]`,
        `engines: { engine: { url: "${engine.url}", kind: vllm, structuredOutputs: false, images: content_parts }, faulty: { url: "${faulty.url}", kind: vllm, structuredOutputs: false } }`,
        'models:',
        '  sim: { engine: engine, contextTokens: 1000000, images: { tokens: fixed, each: 1000 } }',
        '  short: { engine: engine, engineModel: sim, contextTokens: 2000 }',
        ...faulty.models,
        `images: { fetch: true, allowHosts: ["${imagesHost}"] }`,
        'limits: { frameBytes: 262144, bodyBytes: 1048576, drainMs: 300 }',
      ].join('\n'),
    );
    const gateway = await App.start('gateway', ['--config', config], env, this.path('work'));
    this.#apps.push(engine, gateway);
    this.#stops.push(
      () => gateway.stop(),
      () => engine.stop(),
      () => faulty.stop(),
      () => new Promise((resolve) => images.close(resolve)),
    );
    const run = new Run({
      url: gateway.url,
      engineUrl: engine.url,
      key,
      store,
      markers,
      imagesUrl: `http://${imagesHost}`,
    });
    return { gateway, run };
  }

  /** Ends what runs. The files stay. */
  async stop(): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop();
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The folder in which everything is. */
  get folder(): string {
    return this.#folder;
  }
}

/** Serves one image with a text in it, at every address but those that begin with `/broken`. */
async function imageServer(text: string): Promise<Server> {
  const server = createServer((request, response) => {
    const isBroken = request.url?.startsWith('/broken') === true;
    response.writeHead(isBroken ? 404 : 200, { 'content-type': 'image/png', 'x-note': text });
    response.end(isBroken ? text : Buffer.concat([png(32, 32), Buffer.from(text)]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
