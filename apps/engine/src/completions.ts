import { type ServerResponse } from 'node:http';
import { type EngineStats } from './generation/stats.js';

/** What answers completion requests: the simulated model, or one that llama.cpp runs. */
export interface Completions {
  readonly stats: EngineStats;
  /**
   * Starts to answer. The generation ends with the response, whoever closes it.
   * @throws RequestError for what is refused; nothing has been written then
   */
  answer(body: Buffer, response: ServerResponse): void;
}

/** Injection token of the completions. */
export const COMPLETIONS = Symbol('Completions');
