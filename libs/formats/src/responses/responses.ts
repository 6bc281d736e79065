import type { Tool } from '@turnpike/protocol';
import { chatSegmentKind } from '../chat/items.js';
import { MESSAGES } from '../chat/markers.js';
import { functionsOf } from '../chat/tools.js';
import type { Format } from '../format.js';
import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { responsesItem } from './items.js';

/**
 * The format of servers that speak the Responses API themselves. As in `chat`, what stands for a prompt is JSON text in ids of
 * o200k: here of the request's tools and input items. Reasoning that the server sealed stands there by the ids of its own text,
 * so that it comes back to the server as it was.
 */
export function responses(): Format {
  const tokenizer = o200kHarmony();
  return {
    name: 'responses',
    api: 'responses',
    tokenizer,
    stopIds: [],
    // What is to be forgotten of its own reasoning, the server knows.
    dropsFinishedReasoning: false,
    renderHead: ({ tools }) => {
      const functions = responsesTools(tools).join(',');
      return functions === '' ? [MESSAGES] : [functions, MESSAGES];
    },
    renderItem: (item) => ({ pieces: responsesItem(item), place: undefined }),
    takeOver: () => ({ closes: false, place: undefined }),
    closing: () => [],
    segmentKind: chatSegmentKind,
    reasoningSpan: (run) => [0, run.length],
    generationPrompt: () => [],
    parser: () => {
      throw new Error('the outputs of this format are no token ids');
    },
  };
}

/** Tools as those of a request, each as JSON text. */
export function responsesTools(tools: readonly Tool[]): string[] {
  return functionsOf(tools).map((fields) => JSON.stringify({ type: 'function', ...fields }));
}

/** Ids of an item that a server sealed, as it is to come back. */
export function sealedItemIds(item: Readonly<Record<string, unknown>>): Int32Array {
  return o200kHarmony().encode(`${JSON.stringify(item)},`);
}
