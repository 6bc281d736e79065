export type { EngineChunk, EngineClient, EngineUsage, GenerateRequest } from './engine-client.js';
export { VllmCompletions, type VllmCompletionsOptions } from './vllm-completions.js';
