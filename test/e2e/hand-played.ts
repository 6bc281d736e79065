import { harmony } from '@turnpike/formats';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  begin,
  FakeEngine,
  sse,
  tokens,
  type SeenRequest,
} from '../../libs/inference/testing/fake-engine.js';
import { idsOf } from '../cases/scripted-engine.js';
import { App } from './platform.js';

/** One request to an engine, which the test answers as it goes along. */
export class Asked {
  /** Tokens that were written. */
  sampled = 0;
  readonly engine: FakeEngine;
  readonly #seen: SeenRequest;

  constructor(engine: FakeEngine, seen: SeenRequest) {
    this.engine = engine;
    this.#seen = seen;
  }

  /** With control tokens. */
  get prompt(): string {
    return harmony().tokenizer.decode((JSON.parse(this.#seen.body) as { prompt: number[] }).prompt);
  }

  /** Resolves when the gateway has gone before the end of the answer. */
  get left(): Promise<void> {
    return this.#seen.aborted;
  }

  /** Samples this Harmony text, in one write. */
  say(text: string): void {
    this.#write(text, null);
  }

  /** Samples the rest of the answer. */
  finish(text: string): void {
    this.#write(text, 'stop');
    this.#seen.response.end(sse('[DONE]'));
  }

  /** Resets the connection. */
  reset(): void {
    this.#seen.response.destroy();
  }

  #write(text: string, finish: string | null): void {
    const { response } = this.#seen;
    const ids = idsOf(text);
    this.sampled += ids.length;
    if (!response.headersSent) begin(response);
    response.write(sse(tokens(ids, finish)));
  }
}

/** Two engines that serve one model, and say what a test wants them to. */
export class Pair {
  readonly engines: FakeEngine[] = [];
  readonly #asked: Asked[] = [];
  #wake: () => void = () => undefined;

  static async start(): Promise<Pair> {
    const pair = new Pair();
    for (let count = 0; count < 2; count++) {
      const engine = await FakeEngine.start((seen) => {
        pair.#asked.push(new Asked(engine, seen));
        pair.#wake();
      });
      pair.engines.push(engine);
    }
    return pair;
  }

  /** The next request to either. */
  async asked(): Promise<Asked> {
    for (;;) {
      const next = this.#asked.shift();
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Whether there are requests that the test has not seen. */
  get hasMore(): boolean {
    return this.#asked.length > 0;
  }
}

/** A built gateway in front of pairs of engines; the models `m0`, `m1` ... have one each. */
export class HandPlayed {
  readonly gateway: App;
  readonly pairs: readonly Pair[];
  readonly folder: string;

  private constructor(gateway: App, pairs: readonly Pair[], folder: string) {
    this.gateway = gateway;
    this.pairs = pairs;
    this.folder = folder;
  }

  /** @param count of pairs: what is killed stays so, and each test takes a pair of its own */
  static async start(count: number): Promise<HandPlayed> {
    const pairs = await Promise.all(Array.from({ length: count }, () => Pair.start()));
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
    const engines = pairs.flatMap((pair, index) =>
      pair.engines.map(
        ({ url }, of) => `  e${index}-${of}: { url: "${url}", kind: vllm, structuredOutputs: false }`,
      ),
    );
    const models = pairs.map(
      (_, index) => `  m${index}: { engine: [e${index}-0, e${index}-1], contextTokens: 100000 }`,
    );
    const config = ['port: 0', 'engines:', ...engines, 'models:', ...models];
    writeFileSync(join(folder, 'turnpike.yaml'), config.join('\n'));
    const gateway = await App.start('gateway', ['--config', 'turnpike.yaml'], {}, folder);
    return new HandPlayed(gateway, pairs, folder);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all(this.pairs.flatMap(({ engines }) => engines).map((engine) => engine.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}
