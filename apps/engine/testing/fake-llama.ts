import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startLlamaEngine } from '../src/engine.js';
import { type LlamaContext, type LlamaModel, type LlamaSequence } from '../src/llama/node-llama-cpp.js';
import { type NodeLlamaCpp, type SamplingOptions } from '../src/llama/node-llama-cpp.js';
import { DEFAULT_GGUF_SETTINGS, type GgufSettings } from '../src/settings.js';
import { EngineClient } from './client.js';

/** The end token of the fake model. */
export const EOG = 2;
/** Control tokens are below this; every other id is a byte of text. */
const FIRST_BYTE = 256;
const VOCABULARY = 512;

/** What the fake model says after what a sequence holds. */
export type Next = (context: readonly number[], options: SamplingOptions) => number;

/** Says one more than the last token, and ends at a multiple of ten. */
export const counting: Next = (context) => {
  const next = (context.at(-1) ?? 0) + 1;
  return next % 10 === 0 ? EOG : next;
};

/** Node-llama-cpp's interface over arrays. It does what the real one does with sequences, and counts. */
export class FakeLlama implements NodeLlamaCpp {
  /** All evaluations of all sequences, in their order. */
  readonly evaluations: { readonly sequence: number; readonly tokens: readonly number[] }[] = [];
  readonly sampling: SamplingOptions[] = [];
  /** As with some models: a sequence that is cut evaluates again what is left. */
  evaluatesAgain = false;
  /** Called before each evaluation; a test can hold it up, or let it fail. */
  beforeEvaluation: () => Promise<void> = () => new Promise((resolve) => setImmediate(resolve));

  constructor(
    readonly next: Next = counting,
    private readonly trainContextSize = 10_000,
  ) {}

  async getLlama(): ReturnType<NodeLlamaCpp['getLlama']> {
    return {
      loadModel: async ({ modelPath }) => {
        if (modelPath.endsWith('.json')) throw new Error('Invalid GGUF magic');
        return this.model();
      },
    };
  }

  private model(): LlamaModel {
    const tokens = Array.from({ length: VOCABULARY }, (_, id) => String(id));
    return {
      trainContextSize: this.trainContextSize,
      tokens: { bos: 1, shouldPrependBosToken: true },
      fileInfo: { metadata: { tokenizer: { ggml: { tokens } } } },
      tokenize: (text) => [...Buffer.from(text)].map((byte) => FIRST_BYTE + byte),
      detokenize: (ids, special) =>
        Buffer.concat(
          ids.map((id) => {
            if (id >= FIRST_BYTE) return Buffer.of(id - FIRST_BYTE);
            return Buffer.from(special ? `<${id}>` : '');
          }),
        ).toString(),
      isEogToken: (id) => id === EOG,
      createContext: async ({ contextSize, sequences }) => this.context(contextSize, sequences),
    };
  }

  context(contextSize: number, count: number): LlamaContext {
    let left = count;
    let made = 0;
    return {
      getSequence: () => {
        if (left === 0) throw new Error('No sequences left');
        left--;
        return new FakeSequence(this, made++, contextSize - 1, () => void left++);
      },
    };
  }
}

class FakeSequence implements LlamaSequence {
  private held: number[] = [];
  private evaluated = 0;
  private sampled = 0;
  private busy = false;
  readonly tokenMeter = {
    getState: () => ({ usedInputTokens: this.evaluated - this.sampled, usedOutputTokens: this.sampled }),
  };

  constructor(
    private readonly llama: FakeLlama,
    private readonly number: number,
    private readonly capacity: number,
    private readonly giveBack: () => void,
  ) {}

  get contextTokens(): readonly number[] {
    return [...this.held];
  }

  async eraseContextTokenRanges(ranges: readonly { start: number; end: number }[]): Promise<void> {
    for (const { start, end } of ranges) this.held.splice(start, end - start);
    if (this.llama.evaluatesAgain) this.evaluated += this.held.length;
  }

  async evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void> {
    // Two requests in one sequence would write over each other.
    if (this.busy) throw new Error('evaluated twice at once');
    this.busy = true;
    try {
      await this.llama.beforeEvaluation();
      // The real one would throw out its beginning without a word.
      if (this.held.length + tokens.length > this.capacity) throw new Error('the sequence is full');
      this.llama.evaluations.push({ sequence: this.number, tokens: [...tokens] });
      this.held.push(...tokens);
      this.evaluated += tokens.length;
    } finally {
      this.busy = false;
    }
  }

  async *evaluate(
    tokens: readonly number[],
    options: SamplingOptions,
  ): AsyncGenerator<number, void, undefined> {
    this.llama.sampling.push(options);
    for (let given = tokens; ;) {
      await this.evaluateWithoutGeneratingNewTokens(given);
      this.sampled++;
      const token = this.llama.next(this.held, options);
      yield token;
      given = [token];
    }
  }

  async saveStateToFile(path: string): Promise<void> {
    if (this.busy) throw new Error('saved while it was evaluated');
    writeFileSync(path, JSON.stringify(this.held));
  }

  async loadStateFromFile(path: string): Promise<void> {
    if (this.busy) throw new Error('loaded while it was evaluated');
    this.held = JSON.parse(readFileSync(path, 'utf8')) as number[];
  }

  async dispose(): Promise<void> {
    this.giveBack();
  }
}

/** An engine with the fake model, and its client. */
export async function startFakeLlama(
  llama: FakeLlama,
  settings: Partial<GgufSettings> = {},
): Promise<EngineClient> {
  const gguf = fileURLToPath(import.meta.url);
  const engine = await startLlamaEngine(
    { ...DEFAULT_GGUF_SETTINGS, port: 0, model: 'fake', gguf, context: 10_000, ...settings },
    llama,
  );
  return new EngineClient(engine.url, () => engine.close());
}
