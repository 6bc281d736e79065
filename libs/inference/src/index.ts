export type {
  EngineChunk,
  EngineClient,
  EngineImage,
  EngineUsage,
  GenerateRequest,
} from './engine-client.js';
export { VllmCompletions, type VllmCompletionsOptions } from './vllm-completions.js';
