import type { Format, ItemContext, Piece, Place, RenderedItem, Tokenizer } from '@turnpike/formats';
import type { Item } from '@turnpike/protocol';
import { END, fakeFormat, idsOf, START } from './fake-format.js';

/** Around reasoning inside a turn. */
export const THINK = 70_010;
export const THOUGHT = 70_011;

/** Whose turn is open, and its last text, which is encoded together with what follows it. */
interface OpenTurn {
  readonly by: string;
  readonly held: string;
}

/**
 * A format in which neighbours share a turn, `START, by, texts, END, line feed`: what the assistant reasons and says stands in
 * one, outputs of tools in one. A model ends its turn without the line feed.
 */
export function turnFormat(options: Partial<Format> = {}): Format {
  return fakeFormat({
    name: 'turns',
    tokenizer: { encode: (text: string) => Int32Array.from(idsOf(text)) } as Tokenizer,
    stopIds: [END],
    renderItem,
    takeOver: (_item, ids, place) => ({
      closes: ids[0] === START,
      place: ids.at(-1) === END ? { by: '', held: '' } : { by: openTurn(place)?.by ?? 'assistant', held: '' },
    }),
    closing: (place) => closingPieces(openTurn(place)),
    reasoningSpan: (run) => [Math.max(Array.from(run).indexOf(THINK), 0), run.length],
    generationPrompt: () => [START, ...idsOf('assistant')],
    ...options,
  });
}

function renderItem(item: Item, { place }: ItemContext): RenderedItem {
  const open = openTurn(place);
  if (item.type === 'message') {
    const text = item.content.map((part) => ('text' in part ? part.text : '')).join('');
    if (item.role === 'assistant') return behind(open, item.role, [], text);
    return { pieces: [...closingPieces(open), START, item.role, text, END, '\n'], place: undefined };
  }
  if (item.type === 'reasoning') {
    const text = (item.content ?? []).map((part) => part.text).join('');
    return behind(open, 'assistant', [THINK, text, THOUGHT], '');
  }
  if (item.type === 'function_call_output' && typeof item.output === 'string') {
    return behind(open, 'tools', [], `[${item.output}]`);
  }
  return { pieces: [], place };
}

/** Pieces and a text in a turn: they go on with the open one, or begin another. */
function behind(
  open: OpenTurn | undefined,
  by: string,
  pieces: readonly Piece[],
  text: string,
): RenderedItem {
  const goesOn = open?.by === by;
  const lead = goesOn ? [] : [...closingPieces(open), START, by];
  const before = goesOn ? open.held : '';
  if (pieces.length === 0) return { pieces: lead, place: { by, held: before + text } };
  return { pieces: [...lead, ...(before === '' ? [] : [before]), ...pieces], place: { by, held: text } };
}

function closingPieces(open: OpenTurn | undefined): Piece[] {
  if (open === undefined) return [];
  if (open.by === '') return ['\n'];
  return [...(open.held === '' ? [] : [open.held]), END, '\n'];
}

function openTurn(place: Place): OpenTurn | undefined {
  return place as OpenTurn | undefined;
}
