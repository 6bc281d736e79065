import type { Piece, Place } from '../format.js';

/** What a message of the assistant begins with. */
export const ASSISTANT = '{"role":"assistant"';

/** The assistant's message that stands open: which of its fields are written, and whether its list of calls is open. */
export interface Open {
  readonly reasoning: boolean;
  readonly content: boolean;
  readonly calls: 'none' | 'open' | 'closed';
}

export const FRESH: Open = { reasoning: false, content: false, calls: 'none' };

/** Pieces and the place behind them. */
export interface Written {
  readonly pieces: Piece[];
  readonly place: Place;
}

/** A message that is whole, behind whatever stands open. */
export function wholeMessage(place: Place, pieces: readonly Piece[]): Written {
  return { pieces: joined([...closingPieces(place), ...pieces]), place: undefined };
}

/**
 * What the assistant reasoned, as a field of its message. The last piece is the field itself.
 * Source of its name: SGLang, llama-server, DeepSeek and LM Studio; vLLM reads it as well.
 */
export function reasoningField(place: Place, text: string): Written {
  const { lead, open } = begin(place, (known) => !known.reasoning);
  const field = `,"reasoning_content":${JSON.stringify(text)}`;
  const { close, calls } = closedCalls(open);
  return {
    pieces: [...joined([...lead, close]), field],
    place: { ...open, reasoning: true, calls },
  };
}

/** What the assistant said, as a field of its message. */
export function contentField(place: Place, text: string): Written {
  const { lead, open } = begin(place, (known) => !known.content);
  const { close, calls } = closedCalls(open);
  const field = `${close},"content":${JSON.stringify(text)}`;
  return { pieces: joined([...lead, field]), place: { ...open, content: true, calls } };
}

/** A call: calls that follow each other are one list of one message. */
export function callEntry(place: Place, call: { id: string; name: string; arguments: string }): Written {
  const { lead, open } = begin(place, (known) => known.calls !== 'closed');
  const { id, name } = call;
  const entry = JSON.stringify({ id, type: 'function', function: { name, arguments: call.arguments } });
  const field = open.calls === 'open' ? `,${entry}` : `,"tool_calls":[${entry}`;
  return { pieces: joined([...lead, field]), place: { ...open, calls: 'open' } };
}

/** What ends the message that stands open. Every message ends in a comma: that of the last one is taken off in the end. */
export function closingPieces(place: Place): Piece[] {
  if (place === undefined) return [];
  const { content } = openOf(place);
  const { close } = closedCalls(openOf(place));
  return [`${close}${content ? '' : ',"content":""'}},`];
}

/** The message that goes on if it may, or a new one behind it. */
function begin(place: Place, mayGoOn: (open: Open) => boolean): { lead: Piece[]; open: Open } {
  if (place !== undefined && mayGoOn(openOf(place))) return { lead: [], open: openOf(place) };
  return { lead: [...closingPieces(place), ASSISTANT], open: FRESH };
}

function closedCalls({ calls }: Open): { close: string; calls: Open['calls'] } {
  return calls === 'open' ? { close: ']', calls: 'closed' } : { close: '', calls };
}

/** The message that stands open at a place of this format. */
export function openOf(place: NonNullable<Place>): Open {
  return place as unknown as Open;
}

/** The same pieces, texts that follow each other being one text; none that are empty. */
function joined(pieces: readonly Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const piece of pieces) {
    if (piece === '') continue;
    const last = result.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') result[result.length - 1] = last + piece;
    else result.push(piece);
  }
  return result;
}
