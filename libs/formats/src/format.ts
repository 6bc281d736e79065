import type { Item, MessagePhase, Tool } from '@turnpike/protocol';
import type { Tokenizer } from './tokenizer/types.js';

/**
 * A run of a prompt: a number is a control token that the format itself owns; a string is text that is always
 * encoded with control tokens off. Seams between runs are where a prompt may be cut or joined.
 */
export type Piece = number | string;

/** What stands before the conversation and belongs to one request, not to the chain. */
export interface HeadSettings {
  instructions?: string | undefined;
  /** Tools offered to the model; hosted tools are skipped by the renderer. */
  tools: readonly Tool[];
  reasoningEffort?: string | undefined;
  /** JSON Schema that the final message has to satisfy. */
  responseFormat?:
    { name: string; description?: string | undefined; schema: Record<string, unknown> } | undefined;
  /** YYYY-MM-DD, frozen at the first response of a chain. */
  date?: string | undefined;
}

/** Name of the tool behind each call that has no output yet, by call id. */
export type OpenCalls = ReadonlyMap<string, { name: string; namespace?: string | undefined }>;

/**
 * What stands open behind the items of a chain, as the format has to know it to go on: whose turn it is, text that must be
 * encoded together with what follows. Opaque to everybody else, JSON, no larger than the items that share a turn; undefined
 * behind the head.
 */
export type Place = Readonly<Record<string, unknown>> | undefined;

/** What an item stands behind. */
export interface ItemContext {
  /** Names the tool behind an output. */
  readonly calls: OpenCalls;
  readonly place: Place;
}

/** An item in the prompt. */
export interface RenderedItem {
  readonly pieces: readonly Piece[];
  /** The place behind it. */
  readonly place: Place;
}

/** An item that stands in the prompt by the ids it was sampled as. */
export interface TakenItem {
  /** Whether it begins a turn of its own, so that {@link Format.closing} stands before it. */
  readonly closes: boolean;
  /** What of its ids stands there, where that is not all of them. */
  readonly ids?: Int32Array | undefined;
  /** The place behind it. */
  readonly place: Place;
}

/** How the head of an output message classifies it. */
export type OutputHeader =
  | { type: 'reasoning' }
  | { type: 'message'; phase: MessagePhase }
  | { type: 'function_call'; name: string; namespace?: string | undefined }
  | { type: 'custom_tool_call'; name: string; namespace?: string | undefined }
  | { type: 'tool_search_call'; name: string; namespace?: undefined };

/** Header of a message that calls a tool. */
export type CallHeader = Extract<OutputHeader, { name: string }>;

export function isCallHeader(header: OutputHeader): header is CallHeader {
  return 'name' in header;
}

/**
 * What a parser reads from sampled ids. Each message of the model is exactly one `open`, any number of `text` and
 * one `close`; messages never overlap.
 */
export type OutputEvent =
  | { kind: 'open'; header: OutputHeader }
  | { kind: 'text'; text: string }
  | {
      kind: 'close';
      /**
       * The ids this message has in the next prompt: what the generation prompt opened for it, every id sampled for
       * it (strays around it included) verbatim, and the terminator that history wants (Harmony: `<|end|>` where
       * `<|return|>` was sampled or nothing was). Empty when nothing of it may stay, as for a call cut short. Undefined
       * for an output that is no ids: the message is rendered from what it says.
       */
      ids: Int32Array | undefined;
      /** How many ids were sampled for this message. Over all messages of an output these sum to what was pushed. */
      sampled: number;
      /** False when the output ended inside the message. */
      complete: boolean;
    };

/** A tool as a call addresses it. */
export interface CallTarget {
  readonly type: 'function' | 'custom' | 'tool_search';
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** What a model is made to write next: its final answer, or a call of one of these tools. */
export type Opening =
  { readonly kind: 'answer' } | { readonly kind: 'call'; readonly targets: readonly CallTarget[] };

/** Why sampling ended: a stop id, the token limit, or a cut. */
export type FinishReason = 'stop' | 'length' | 'abort';

/** Incremental parser of one output. Never throws: what the model wrote wrongly is read as well as it can be. */
export interface OutputParser {
  /** Events for these ids; adjacent text is joined. Any chunking gives the same joined result. */
  push(ids: ArrayLike<number>): OutputEvent[];
  /** Closes what is open. */
  finish(reason: FinishReason): OutputEvent[];
}

/** What kind of message an item becomes, for formats that drop earlier reasoning. */
export type SegmentKind = 'reasoning' | 'answer' | 'user' | 'other';

/** APIs whose prompts are messages: `/v1/chat/completions` and `/v1/responses`. */
export type MessageApi = 'chat' | 'responses';

/** How one model family is written and read. */
export interface Format {
  readonly name: string;
  /** The API of the servers that it is for, where those take messages and give text; undefined where they take token ids. */
  readonly api?: MessageApi | undefined;
  readonly tokenizer: Tokenizer;
  /** Ids that end sampling. */
  readonly stopIds: readonly number[];
  /** True when reasoning of finished turns is cut from the prompt once a new user turn begins. */
  readonly dropsFinishedReasoning: boolean;
  renderHead(settings: HeadSettings): Piece[];
  /** One item; it has no pieces when it shows nothing to the model, or when they wait for what follows. */
  renderItem(item: Item, context: ItemContext): RenderedItem;
  /**
   * An item that the model wrote, by the ids that a parser of this format gave for it. Undefined when they cannot stand
   * behind `place`, because the items before them are not those that they were sampled behind: then it is rendered.
   */
  takeOver(item: Item, ids: Int32Array, place: Place): TakenItem | undefined;
  /** What ends all that `place` has open, so that the model can be made to answer. The place behind it is not asked for. */
  closing(place: Place): readonly Piece[];
  segmentKind(item: Item): SegmentKind;
  /** Which part of a reasoning item's pieces, or ids, is cut with the reasoning of finished turns: from, and to before. */
  reasoningSpan(run: ArrayLike<Piece>): readonly [from: number, to: number];
  /**
   * Ids behind {@link closing} that make the model answer; the first item it then writes keeps them as its own.
   * @param effort reasoning effort of the request, for models that are told there whether to reason
   * @param opening what the model is made to go on with: as much of it is written as decides that
   */
  generationPrompt(place: Place, effort?: string, opening?: Opening): readonly number[];
  /**
   * A parser for output that follows `opened`, by default what `generationPrompt` gives at the start of a chain. What a prompt has opened of the
   * first item is read as if it had been sampled and counted as if it had not. `tools` are those that the client runs, shown
   * to the model or yet to be searched for.
   */
  parser(tools: readonly Tool[], opened?: readonly number[]): OutputParser;
}
