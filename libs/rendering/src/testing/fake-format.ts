import type { Format, OpenCalls, Piece, SegmentKind } from '@turnpike/formats';
import { isToolItem, type Item } from '@turnpike/protocol';
import { stageToken } from '@turnpike/turns';
import type { FormatProvider } from '../rendering.stage.js';

/** Control ids, beyond every UTF-16 unit. */
export const START = 70_000;
export const BODY = 70_001;
export const END = 70_002;
export const CALL = 70_003;

export const FormatOf = stageToken<{ readonly format: Format }>('format');

/** One id per UTF-16 unit. */
export function idsOf(text: string): number[] {
  return Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}

/** A format in which every prompt can be worked out by hand. */
export function fakeFormat(options: Partial<Format> = {}): Format {
  return {
    name: 'fake',
    tokenizer: undefined as never, // rendering encodes through the provider
    stopIds: [END, CALL],
    dropsFinishedReasoning: true,
    renderHead: (settings) => [START, 'system', BODY, JSON.stringify(settings), END],
    renderItem: (item, { calls }) => ({ pieces: piecesOf(item, calls), place: undefined }),
    takeOver: () => ({ closes: false, place: undefined }),
    closing: () => [],
    segmentKind,
    reasoningSpan: ({ length }) => [0, length],
    generationPrompt: (_place, _effort, opening) => (opening === undefined ? [START, 65] : [START, 65, BODY]),
    parser: () => {
      throw new Error('Nothing is parsed here.');
    },
    ...options,
  };
}

function piecesOf(item: Item, calls: OpenCalls): Piece[] {
  if (isToolItem(item)) return [];
  switch (item.type) {
    case 'message':
      return [
        START,
        item.role,
        BODY,
        item.content.map((part) => ('text' in part ? part.text : '')).join(''),
        END,
      ];
    case 'reasoning':
      return [START, 'reasoning', BODY, (item.content ?? []).map(({ text }) => text).join(''), END];
    case 'function_call':
      return [START, item.name, item.arguments, CALL];
    case 'custom_tool_call':
      return [START, item.name, item.input, CALL];
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const name = calls.get(item.call_id)?.name ?? 'unknown';
      return [START, `from ${name}`, BODY, typeof item.output === 'string' ? item.output : '', END];
    }
    case 'additional_tools':
    case 'compaction':
    case 'tool_search_call':
    case 'tool_search_output':
    case 'configuration_update':
      return [];
  }
}

function segmentKind(item: Item): SegmentKind {
  if (item.type === 'reasoning') return 'reasoning';
  if (item.type !== 'message') return 'other';
  if (item.role === 'assistant') return item.phase === 'commentary' ? 'other' : 'answer';
  return item.role === 'user' ? 'user' : 'other';
}

/** A provider for the fake encoding; `calls` has the texts of each `encodeAll`. */
export function fakeProvider(later = false): FormatProvider & { readonly calls: (readonly string[])[] } {
  const calls: (readonly string[])[] = [];
  return {
    calls,
    formatToken: FormatOf,
    encoder: () => ({
      encodeAll: (texts) => {
        calls.push(texts);
        const ids = texts.map((text) => Int32Array.from(idsOf(text)));
        return later ? Promise.resolve(ids) : ids;
      },
    }),
    today: () => '2026-01-31',
  };
}
