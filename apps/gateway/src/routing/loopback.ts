import type { ListedModel } from '@turnpike/routing';
import type { Discovery } from '../config/schema.js';

/** A port of this machine where an inference server may listen. */
export interface LoopbackPlace {
  /** What usually listens there, which becomes the name of the engine. */
  readonly name: string;
  readonly port: number;
  /** Base URL. */
  readonly url: string;
}

const NAMES: readonly (readonly [keyof Discovery, string])[] = [
  ['vllm', 'vllm'],
  ['sglang', 'sglang'],
  ['llamaServer', 'llama-server'],
  ['ollama', 'ollama'],
  ['lmStudio', 'lm-studio'],
];

/**
 * Where to look for engines: on loopback and nowhere else, whatever the configuration says.
 * @param ownPort where this server listens, which is no engine
 */
export function loopbackPlaces(discovery: Discovery, ownPort: number): LoopbackPlace[] {
  return NAMES.flatMap(([slot, name]) => {
    const port = discovery[slot];
    return port === false || port === ownPort ? [] : [{ name, port, url: `http://127.0.0.1:${port}` }];
  });
}

/** Whether what lists these models is another Turnpike in front of engines, rather than an engine. */
export function isGateway(models: readonly ListedModel[]): boolean {
  return models.some(({ ownedBy, contextTokens }) => ownedBy === 'turnpike' && contextTokens === undefined);
}
