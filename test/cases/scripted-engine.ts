import { setTimeout } from 'node:timers/promises';
import { HARMONY, harmony } from '@turnpike/formats';
import { begin, FakeEngine, sse, tokens } from '../../libs/inference/testing/fake-engine.js';

/** One answer of the engine. */
export interface Script {
  /** Ids, one write to the connection each. */
  readonly writes: readonly (readonly number[])[];
  /** Why it ends; null for an answer that just stops. By default `stop`. */
  readonly finish?: 'stop' | 'length' | null;
  /** What it says of its usage in the end; by default nothing. */
  readonly usage?: unknown;
}

const CONTROLS: ReadonlyMap<string, number> = new Map(
  Object.values(HARMONY).map((id) => [harmony().tokenizer.decode([id]), id]),
);

/** Ids of Harmony that is written out with its control tokens. */
export function idsOf(text: string): number[] {
  return text.split(/(<\|\w+\|>)/).flatMap((part) => {
    const control = CONTROLS.get(part);
    return control === undefined ? [...harmony().tokenizer.encode(part)] : [control];
  });
}

/** An output as one write. */
export const whole = (text: string): Script => ({ writes: [idsOf(text)] });
/** The same, one write a token. */
export const byToken = (text: string): Script => ({ writes: idsOf(text).map((id) => [id]) });

/** An engine that says what a test tells it to, token by token. */
export class ScriptedEngine {
  readonly #engine: FakeEngine;
  readonly #scripts: Script[];
  #answers = 0;

  private constructor(engine: FakeEngine, scripts: Script[]) {
    this.#engine = engine;
    this.#scripts = scripts;
  }

  static async start(): Promise<ScriptedEngine> {
    const scripts: Script[] = [];
    let answers = 0;
    const engine = await FakeEngine.start(async ({ response }) => {
      const { writes, finish = 'stop', usage } = scripts.shift() ?? { writes: [] };
      // Ids of an engine's own mean nothing, repeat and change.
      const id = () => `cmpl-${answers++ % 2}`;
      begin(response);
      for (const ids of writes) {
        response.write(sse({ ...tokens(ids), id: id() }));
        await setTimeout(1);
      }
      if (finish !== null)
        response.write(sse({ id: id(), choices: [{ index: 0, text: '', finish_reason: finish }] }));
      if (usage !== undefined) response.write(sse({ id: id(), choices: [], usage }));
      response.end(finish === null ? '' : sse('[DONE]'));
    });
    return new ScriptedEngine(engine, scripts);
  }

  get url(): string {
    return this.#engine.url;
  }

  /** Puts the answers to the next requests in order. */
  play(...scripts: Script[]): void {
    this.#scripts.splice(0, this.#scripts.length, ...scripts);
  }

  /** Prompts since the last call, as text with their control tokens. */
  takePrompts(): string[] {
    const fresh = this.#engine.requests.slice(this.#answers);
    this.#answers = this.#engine.requests.length;
    return fresh.map(({ body }) =>
      harmony().tokenizer.decode((JSON.parse(body) as { prompt: number[] }).prompt),
    );
  }

  stop(): Promise<void> {
    return this.#engine.stop();
  }
}
