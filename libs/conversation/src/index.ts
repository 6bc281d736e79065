export { createNode, estimateBytes, historyOf, type ChainNode, type ResponseNode } from './node.js';
export { NodeCache } from './node-cache.js';
export { ConnectionCache } from './connection-cache.js';
export { MemoryResponseStore, type ResponseStore, type StoredResponse } from './response-store.js';
export type {
  Conversation,
  ConversationState,
  ConversationStore,
  ConversationTurn,
  ItemPage,
  ItemQuery,
} from './conversation-store.js';
export { MemoryConversationStore } from './memory-conversation-store.js';
export { Retention } from './retention.js';
export { resolveParent, type ParentSource } from './parent.js';
export { ResumeWindow, type ResumeWindowLimits } from './resume-window.js';
export { ReplayIndex, type KnownPrefix } from './replay-index.js';
export {
  apart,
  compactedItems,
  KEPT_CHARACTERS,
  rulesOf,
  summaryItem,
  SUMMARY_REQUEST,
  usersOf,
  type Compacted,
} from './compaction.js';
