import type { Format, HeadSettings, Piece } from '../format.js';
import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { chatItem, chatSegmentKind } from './items.js';
import { MESSAGES } from './markers.js';
import { closingPieces } from './message.js';
import { reasoningCut, takeOverReasoning } from './reasoning-ids.js';
import { chatFunctions } from './tools.js';

/**
 * The format of servers that take messages and give text. What stands for a prompt is the JSON text of the request's functions
 * and messages, in ids of o200k: so it is appended to, stored, forked, compacted and measured like that of any model, and the
 * server gets the same bytes for the same history in each turn. How many tokens the server makes of it is its own affair:
 * ours is an estimate.
 *
 * Outputs are no ids: there is no parser, and what the model said is rendered from its items. Reasoning that came in another
 * field than the usual one stands there by the ids of that field, so that it goes back as it came.
 */
export function chat(): Format {
  const tokenizer = o200kHarmony();
  return {
    name: 'chat',
    api: 'chat',
    tokenizer,
    stopIds: [],
    dropsFinishedReasoning: true,
    renderHead,
    renderItem: chatItem,
    takeOver: takeOverReasoning,
    closing: closingPieces,
    segmentKind: chatSegmentKind,
    reasoningSpan: reasoningCut,
    generationPrompt: () => [],
    parser: () => {
      throw new Error('the outputs of this format are no token ids');
    },
  };
}

function renderHead({ instructions, tools }: HeadSettings): Piece[] {
  const functions = chatFunctions(tools).join(',');
  const system =
    instructions === undefined ? '' : `{"role":"system","content":${JSON.stringify(instructions)}},`;
  return [functions, MESSAGES, system].filter((piece) => piece !== '');
}
