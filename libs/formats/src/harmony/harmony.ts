import { type Format } from '../format.js';
import { HARMONY, o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { headPieces } from './head.js';
import { itemSegmentKind } from '../spoken/items.js';
import { itemPieces } from './items.js';
import { openingPieces } from './opening.js';
import { HarmonyParser } from './parser.js';

/**
 * The format of gpt-oss. Loads the vocabulary at the first call.
 * @throws Error when the vocabulary's rank data cannot be read.
 */
export function harmony(): Format {
  const tokenizer = o200kHarmony();
  const generationPrompt = [HARMONY.start, ...tokenizer.encode('assistant')];
  return {
    name: 'harmony',
    tokenizer,
    stopIds: [HARMONY.return, HARMONY.call],
    dropsFinishedReasoning: true,
    renderHead: headPieces,
    // Every message is whole by itself: nothing is ever open between two items.
    renderItem: (item, { calls }) => ({ pieces: itemPieces(item, calls), place: undefined }),
    takeOver: () => ({ closes: false, place: undefined }),
    closing: () => [],
    segmentKind: itemSegmentKind,
    reasoningSpan: ({ length }) => [0, length],
    generationPrompt: (_place, _effort, opening) =>
      opening === undefined
        ? generationPrompt
        : openingPieces(opening).flatMap((piece) =>
            typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)],
          ),
    parser: (tools, opened = generationPrompt) =>
      new HarmonyParser(tools, tokenizer, opened, generationPrompt.length),
  };
}
