import { type ModelOptions } from './llama/load-model.js';

/** What an engine with the simulated model is told on its command line. */
export interface EngineSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** The one model served. */
  readonly model: string;
  /** Tokens generated a second, for each request. */
  readonly tps: number;
  /** Milliseconds from the whole request to its first token, prefill not counted. */
  readonly ttftMs: number;
  /** Microseconds for each prompt token that is not cached. */
  readonly prefillUsPerToken: number;
  /** Longest prompt plus output, in tokens. */
  readonly context: number;
  /** Sequences kept by the prefix cache. */
  readonly slots: number;
  /** Markers for every request, as in "calls=2 tokens=100"; a message's own marker wins. */
  readonly script: string;
}

export const DEFAULT_SETTINGS: EngineSettings = {
  host: '127.0.0.1',
  port: 8100,
  model: 'sim',
  tps: 1000,
  ttftMs: 20,
  prefillUsPerToken: 2,
  context: 1_000_000,
  slots: 64,
  script: '',
};

/** The same for a model that llama.cpp runs. */
export interface GgufSettings extends ModelOptions {
  readonly host: string;
  readonly port: number;
  /** The one model served. */
  readonly model: string;
}

/** Undefined is decided when the file has been read. */
export const DEFAULT_GGUF_SETTINGS: Omit<GgufSettings, 'gguf' | 'model'> = {
  host: DEFAULT_SETTINGS.host,
  port: DEFAULT_SETTINGS.port,
  context: undefined,
  slots: 4,
  threads: undefined,
};
