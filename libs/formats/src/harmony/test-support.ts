import { type OutputEvent, type OutputHeader, type Piece } from '../format.js';
import { HARMONY, o200kHarmony } from '../tokenizer/o200k-harmony.js';

/** Helpers of the tests beside this file. */

const controls = new Map(Object.values(HARMONY).map((id) => [o200kHarmony().decode([id]), id]));

/** Ids of a prompt or completion written out with its control tokens. */
export function idsOf(text: string): number[] {
  return text.split(/(<\|\w+\|>)/).flatMap((part) => {
    const control = controls.get(part);
    return control === undefined ? [...o200kHarmony().encode(part)] : [control];
  });
}

/** Ids of pieces, each encoded by itself. */
export function encodePieces(pieces: readonly Piece[]): number[] {
  return pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...o200kHarmony().encode(piece)]));
}

/** Pieces written out with their control tokens. */
export function written(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === 'number' ? o200kHarmony().decode([piece]) : piece)).join('');
}

export interface ReadMessage {
  header: OutputHeader;
  text: string;
  /** Number of text events. */
  texts: number;
  ids: number[];
  sampled: number;
  complete: boolean;
}

/** Collects events into messages, checking that each is one open, texts, one close. */
export function messagesOf(events: readonly OutputEvent[]): ReadMessage[] {
  const messages: ReadMessage[] = [];
  let open: ReadMessage | undefined;
  let closed = true;
  for (const event of events) {
    if (event.kind === 'open') {
      if (!closed) throw new Error('A message opened inside another');
      closed = false;
      open = { header: event.header, text: '', texts: 0, ids: [], sampled: 0, complete: false };
      messages.push(open);
    } else if (open === undefined || closed) {
      throw new Error(`A ${event.kind} outside of a message`);
    } else if (event.kind === 'text') {
      open.text += event.text;
      open.texts++;
    } else {
      closed = true;
      Object.assign(open, { ids: [...(event.ids ?? [])], sampled: event.sampled, complete: event.complete });
    }
  }
  if (!closed) throw new Error('A message was never closed');
  return messages;
}
