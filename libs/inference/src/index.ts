export type {
  EngineCapabilities,
  EngineChunk,
  EngineClient,
  EngineImage,
  GenerateRequest,
  GrammarKind,
} from './engine-client.js';
export { createEngine, ENGINE_KINDS, type EngineKind, type EngineOptions } from './create-engine.js';
export type { MessageChunk, MessageFinish, MessageReader, MessageRequest } from './messages.js';
export { ChatReader, type ChatReaderOptions } from './chat/chat-reader.js';
export { takesTokens } from './probe.js';
export type { EngineUsage } from './engine-usage.js';
export { ResponsesReader, type ResponsesReaderOptions } from './responses/responses-reader.js';
