import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { type LlamaContext, type LlamaModel, type NodeLlamaCpp } from './node-llama-cpp.js';

/** What decides how a model runs. */
export interface ModelOptions {
  /** Path of the GGUF file. */
  readonly gguf: string;
  /** Longest prompt plus output, in tokens; undefined: {@link DEFAULT_CONTEXT}, or what the model was trained with if less. */
  readonly context: number | undefined;
  /** Sequences kept, and generated at once. Each takes the memory of a whole context. */
  readonly slots: number;
  /** Undefined: half of what the machine can run at once. */
  readonly threads: number | undefined;
}

/** A model that is ready to generate. */
export interface LoadedModel {
  readonly model: LlamaModel;
  readonly context: LlamaContext;
  readonly sequences: number;
  readonly contextTokens: number;
  /** Token ids are below this. */
  readonly vocabulary: number;
}

const DEFAULT_CONTEXT = 4096;

/** @throws Error that says what is wrong with the file, or that there is not enough memory */
export async function loadModel(llamaCpp: NodeLlamaCpp, options: ModelOptions): Promise<LoadedModel> {
  const { gguf, slots } = options;
  checkFile(gguf);
  // The threads of llama.cpp wait for one another in busy loops: with more of them than free cores all of them crawl, and
  // on most machines half of what can run at once is the number of real cores.
  const threads = options.threads ?? Math.max(1, Math.floor(availableParallelism() / 2));
  const llama = await llamaCpp.getLlama({
    gpu: false,
    build: 'never',
    skipDownload: true,
    logLevel: 'error',
    maxThreads: threads,
  });
  const model = await named(`${gguf} cannot be loaded`, () =>
    llama.loadModel({ modelPath: gguf, gpuLayers: 0 }),
  );
  const vocabulary = model.fileInfo.metadata.tokenizer?.ggml?.tokens?.length ?? 0;
  if (vocabulary === 0) throw new Error(`${gguf} holds no vocabulary`);
  const contextTokens = options.context ?? Math.min(DEFAULT_CONTEXT, model.trainContextSize);
  if (contextTokens > model.trainContextSize) {
    throw new Error(
      `${gguf} was trained with ${model.trainContextSize} tokens of context, not ${contextTokens}`,
    );
  }
  const context = await named(`${slots} sequences of ${contextTokens} tokens cannot be had`, () =>
    model.createContext({
      // The last cell of a sequence is never filled.
      contextSize: contextTokens + 1,
      sequences: slots,
      threads,
      swaFullCache: true,
      failedCreationRemedy: false,
    }),
  );
  return { model, context, sequences: slots, contextTokens, vocabulary };
}

function checkFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new Error(`${path} does not exist`);
  if (!stats.isFile()) throw new Error(`${path} is not a file`);
}

async function named<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Error(`${what}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
