import { join } from 'node:path';
import { App, FAST, startGateway } from './platform.js';
import { Recorder } from './recorder.js';
import { harmony } from '@turnpike/formats';

/** The built gateway in front of the built engine, with every prompt recorded on the way. */
export class Stand {
  readonly #engine: App;
  readonly #recorder: Recorder;
  readonly #gateways: Awaited<ReturnType<typeof startGateway>>[] = [];
  #url = '';

  private constructor(engine: App, recorder: Recorder) {
    this.#engine = engine;
    this.#recorder = recorder;
  }

  /** @param config lines of the gateway's configuration file */
  static async start(config: readonly string[] = []): Promise<Stand> {
    const engine = await App.start('engine', [
      '--port',
      '0',
      '--model',
      'sim',
      '--context',
      '1000000',
      ...FAST,
    ]);
    const stand = new Stand(engine, await Recorder.start(engine.url));
    stand.#url = (await stand.gateway(config)).url;
    return stand;
  }

  /** Base URL of the gateway. */
  get url(): string {
    return this.#url;
  }

  /** The first gateway. */
  get main(): App {
    const [main] = this.#gateways;
    if (main === undefined) throw new Error('the stand has not started');
    return main;
  }

  /** Base URL of the engine itself. */
  get engineUrl(): string {
    return this.#engine.url;
  }

  /** Prompts so far, as token ids; a test may empty it. */
  get prompts(): number[][] {
    return this.#recorder.prompts;
  }

  /** Everything the first gateway wrote. */
  get output(): string {
    return this.#gateways[0]?.output() ?? '';
  }

  /** One more gateway in front of the same engine, with the same store: for a stand whose gateway has the default one. */
  replica(): Promise<App> {
    return this.gateway([`store: { path: "${join(this.#gateways[0]?.folder ?? '', 'data/turnpike.db')}" }`]);
  }

  /** One more gateway in front of the same engine; it stops with the stand. */
  async gateway(config: readonly string[]): Promise<App> {
    const gateway = await startGateway(this.#recorder.url, config);
    this.#gateways.push(gateway);
    return gateway;
  }

  /** Prompts since the last call, as text with their control tokens. */
  takePrompts(): string[] {
    const { tokenizer } = harmony();
    return this.takePromptIds().map((ids) => tokenizer.decode(ids));
  }

  /** Prompts since the last call, as token ids. */
  takePromptIds(): number[][] {
    return this.#recorder.prompts.splice(0);
  }

  /** Waits until the engine generates nothing any more. */
  async untilIdle(): Promise<void> {
    while ((await this.running()) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** How many answers the engine is generating. */
  async running(): Promise<number> {
    return (await this.#state()).running;
  }

  /** Tokens that the engine has generated so far. */
  async generated(): Promise<number> {
    return (await this.#state()).tokens_generated;
  }

  async #state(): Promise<{ running: number; tokens_generated: number }> {
    const answer = await fetch(`${this.#engine.url}/debug/state`);
    return (await answer.json()) as { running: number; tokens_generated: number };
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#gateways.map(async (gateway) => {
        await gateway.stop();
        gateway.cleanUp();
      }),
    );
    await this.#recorder.stop();
    await this.#engine.stop();
  }
}
