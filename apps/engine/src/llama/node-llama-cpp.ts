/**
 * What the engine uses of node-llama-cpp 3.21.1, written by hand: the package is installed on demand (install.ts) and
 * is not there when this is compiled.
 */
export interface NodeLlamaCpp {
  getLlama(options: {
    /** False: the CPU. */
    readonly gpu: false;
    /** Never compiles llama.cpp. */
    readonly build: 'never';
    readonly skipDownload: true;
    readonly logLevel: 'error' | 'disabled';
    /** Most threads of all contexts together. */
    readonly maxThreads: number;
  }): Promise<Llama>;
}

export interface Llama {
  /** @throws Error when the file is not a model that llama.cpp can load */
  loadModel(options: { readonly modelPath: string; readonly gpuLayers: 0 }): Promise<LlamaModel>;
}

export interface LlamaModel {
  /** Tokens of context that the model was trained with. */
  readonly trainContextSize: number;
  readonly tokens: { readonly bos: number | null; readonly shouldPrependBosToken: boolean };
  /** The header of the file. */
  readonly fileInfo: {
    readonly metadata: { readonly tokenizer?: { readonly ggml?: { readonly tokens?: readonly string[] } } };
  };
  /** @param specialTokens whether control tokens are read from the text */
  tokenize(text: string, specialTokens: boolean): number[];
  /**
   * The text of tokens. Characters that are not whole become U+FFFD.
   * @param specialTokens whether control tokens are written out
   * @param before the tokens before them, on which the first blank can depend
   */
  detokenize(tokens: readonly number[], specialTokens: boolean, before?: readonly number[]): string;
  /** Whether a token ends an output. */
  isEogToken(token: number): boolean;
  /** @throws Error when there is not enough memory */
  createContext(options: {
    /** Cells of each sequence; one of them is never filled. */
    readonly contextSize: number;
    readonly sequences: number;
    readonly threads: number;
    /** Keeps every cell of a sliding window, so that a sequence can be cut anywhere. */
    readonly swaFullCache: true;
    /** False: a context that does not fit is an error, and not a smaller context. */
    readonly failedCreationRemedy: false;
  }): Promise<LlamaContext>;
}

export interface LlamaContext {
  /** @throws Error when all are given out */
  getSequence(): LlamaSequence;
}

/** How many tokens a sequence has evaluated since it was made. */
export interface TokenCounts {
  readonly usedInputTokens: number;
  /** Those that a next token was sampled after. */
  readonly usedOutputTokens: number;
}

/** One sequence of the KV cache. */
export interface LlamaSequence {
  /** What it holds; a copy. */
  readonly contextTokens: readonly number[];
  readonly tokenMeter: { getState(): TokenCounts };
  eraseContextTokenRanges(ranges: readonly { readonly start: number; readonly end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>;
  /** Evaluates the tokens, then samples one after the other. One that is yielded is evaluated when the next is asked for. */
  evaluate(tokens: readonly number[], options: SamplingOptions): AsyncGenerator<number, void, undefined>;
  /** Writes down what it holds: its tokens, and the cells of its cache. */
  saveStateToFile(path: string): Promise<unknown>;
  /**
   * Holds what another one held.
   * @param risk a file that another model wrote can end the process
   */
  loadStateFromFile(path: string, risk: { readonly acceptRisk: true }): Promise<void>;
  /** Frees its cells and gives its place back to the context. */
  dispose(): Promise<void>;
}

export interface SamplingOptions {
  /** 0 takes the most likely token. */
  readonly temperature: number;
  readonly topP: number;
  /** 0: all tokens. */
  readonly topK: 0;
  readonly minP: 0;
  /** From 0. Without one it would be the time in seconds. */
  readonly seed: number;
  /** Yields the end token as well. */
  readonly yieldEogToken: true;
}
