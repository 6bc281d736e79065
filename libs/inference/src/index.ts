export type {
  EngineCapabilities,
  EngineChunk,
  EngineClient,
  EngineImage,
  EngineUsage,
  GenerateRequest,
  GrammarKind,
} from './engine-client.js';
export { createEngine, ENGINE_KINDS, type EngineKind, type EngineOptions } from './create-engine.js';
export { takesTokens } from './probe.js';
