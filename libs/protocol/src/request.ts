import type { Item, Tool } from './items.js';
import type { ReasoningEffort, TextFormat } from './settings.js';

/** Which earlier reasoning the model sees again: of the running turn only, or of the whole chain. */
export type ReasoningContext = 'auto' | 'current_turn' | 'all_turns';

/** An entry of `allowed_tools`. */
export interface ToolReference {
  type: string;
  name?: string | undefined;
  /** The namespace that the tool was declared in; without one the name is to say which tool is meant. */
  namespace?: string | undefined;
  /** Of a tool of type `mcp`. */
  server_label?: string | undefined;
}

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { type: 'function' | 'custom'; name: string; namespace?: string | undefined }
  | { type: 'allowed_tools'; mode: 'auto' | 'required'; tools: ToolReference[] }
  | { type: string; [field: string]: unknown };

/**
 * One `response.create`, canonical: nulls are absent, defaults are filled in. Everything but `input` belongs to this
 * request alone and is not inherited through `previousResponseId`.
 */
export interface ResponseRequest {
  model: string;
  /** New items only. */
  input: Item[];
  /** What was sent as a text and made into messages of parts: `input` itself, or the contents of these of its items. */
  sentAsText?: 'input' | ReadonlySet<number> | undefined;
  previousResponseId?: string | undefined;
  /** Id of the conversation that the turn belongs to; excludes `previousResponseId` and `store: false`. */
  conversation?: string | undefined;
  instructions?: string | undefined;
  /** As sent; validated when `toolsKey` is new to the chain. */
  tools: Tool[];
  /** JSON text of `tools`: equal text means equal tools, so neither validation nor rendering is repeated. */
  toolsKey: string;
  toolChoice: ToolChoice;
  parallelToolCalls: boolean;
  maxToolCalls?: number | undefined;
  reasoning: {
    effort?: ReasoningEffort | undefined;
    summary?: string | undefined;
    context?: ReasoningContext | undefined;
  };
  text: { format: TextFormat; verbosity?: string | undefined };
  include: string[];
  store: boolean;
  /** False for a warm-up: fold the input, sample nothing. */
  generate: boolean;
  /** HTTP: the response is made whether its client waits or not. */
  background: boolean;
  /** HTTP: server-sent events. Always true in effect on a WebSocket. */
  stream: boolean;
  metadata: Record<string, string>;
  temperature: number;
  topP: number;
  topLogprobs: number;
  maxOutputTokens?: number | undefined;
  truncation: 'auto' | 'disabled';
  /** True when the conversation is to be compacted instead of answered: `input` ended with a `compaction_trigger`. */
  compacts: boolean;
  /** Tokens of the prompt above which the conversation is compacted before it is answered. */
  compactThreshold?: number | undefined;
  /** True for a response that stays open at its tool calls until their outputs are appended. */
  appends: boolean;
  user?: string | undefined;
  safetyIdentifier?: string | undefined;
  promptCacheKey?: string | undefined;
  serviceTier?: string | undefined;
  /** WebSocket lane; undefined is the default lane. */
  streamId?: string | undefined;
}
