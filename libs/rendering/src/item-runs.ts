import type { Format, OpenCalls, Piece, Place } from '@turnpike/formats';
import { answerOf, callMadeBy, type Item } from '@turnpike/protocol';
import type { Turn } from '@turnpike/turns';
import type { PlannedItem } from './tail.js';

/** A stretch of a prompt: pieces yet to be encoded, or ids as a model sampled them. */
export type Run = Piece | Int32Array;

/** What one item adds to the body. */
export interface ItemRuns {
  readonly runs: readonly Run[];
  /** Those of the runs that are cut once the turn is finished, from and to before; undefined when none are. */
  readonly cut: readonly [from: number, to: number] | undefined;
}

/** What items are folded behind. */
export interface Before {
  readonly calls: OpenCalls;
  readonly place: Place;
  /** Ids of what closes `place`. */
  readonly closing: Int32Array;
}

export interface FoldedItems {
  readonly items: readonly ItemRuns[];
  readonly calls: OpenCalls;
  readonly place: Place;
}

/**
 * The runs of items, each behind the place that the one before it leaves. What was sampled in this format is taken over by
 * its ids; of reasoning whose turn is finished only what is not cut is there.
 */
export function foldItems(
  items: readonly PlannedItem[],
  before: Before,
  format: Format,
  turn: Turn,
): FoldedItems {
  const calls = new CallFold(before.calls);
  let { place } = before;
  const folded = items.map(({ entry, reasoning }, index): ItemRuns => {
    const ids = entry.sampled?.format === format.name ? entry.sampled.ids : undefined;
    const taken = ids && takenOver({ item: entry.item, ids }, place, format);
    const closing = index === 0 ? [before.closing] : undefined;
    const lead: readonly Run[] = taken?.closes === true ? (closing ?? format.closing(place)) : [];
    // Rendered before the item counts: an output is named after the call that it answers.
    const written = taken ?? format.renderItem(entry.item, { calls: calls.open, place });
    calls.add(entry.item);
    place = written.place;
    const own = 'ids' in written ? written.ids : written.pieces;
    const parts = reasoning === undefined ? uncut(own) : cutAt(own, format.reasoningSpan(own));
    const runs = reasoning === 'finished' ? [...parts.before, ...parts.behind] : parts.all;
    const dropped = reasoning === 'finished' && runs.length === 0;
    if (taken === undefined && !dropped) turn.count('items_rendered', 1);
    if (reasoning !== 'running') return { runs: [...lead, ...runs], cut: undefined };
    const from = lead.length + parts.before.length;
    return { runs: [...lead, ...runs], cut: [from, from + parts.cut.length] };
  });
  return { items: folded, calls: calls.open, place };
}

/** An item that a model wrote, and its ids. */
export interface WrittenItem {
  readonly item: Item;
  readonly ids: Int32Array;
}

/** An item by its ids, where they can stand behind `place`. One without any changes nothing. */
export function takenOver({ item, ids }: WrittenItem, place: Place, format: Format) {
  const taken = ids.length === 0 ? { closes: false, place } : format.takeOver(item, ids, place);
  return taken && { ...taken, ids: taken.ids ?? ids };
}

/** An item's own runs, and which of them stand around the part that may be cut, and in it. */
interface Parts {
  readonly all: readonly Run[];
  readonly before: readonly Run[];
  readonly cut: readonly Run[];
  readonly behind: readonly Run[];
}

function uncut(own: Int32Array | readonly Piece[]): Parts {
  const all = runsOf(own);
  return { all, before: all, cut: [], behind: [] };
}

function cutAt(own: Int32Array | readonly Piece[], [from, to]: readonly [number, number]): Parts {
  const part = (start: number, end: number) =>
    runsOf(own instanceof Int32Array ? own.subarray(start, end) : own.slice(start, end));
  const parts = { before: part(0, from), cut: part(from, to), behind: part(to, own.length) };
  return { all: [...parts.before, ...parts.cut, ...parts.behind], ...parts };
}

function runsOf(own: Int32Array | readonly Piece[]): readonly Run[] {
  if (!(own instanceof Int32Array)) return own;
  return own.length === 0 ? [] : [own];
}

/** The open calls behind each of a run of items: copied once, however many items change them. */
class CallFold {
  #open: OpenCalls;
  #copy: Map<string, { name: string; namespace?: string | undefined }> | undefined;

  constructor(before: OpenCalls) {
    this.#open = before;
  }

  get open(): OpenCalls {
    return this.#open;
  }

  add(item: Item): void {
    const call = callMadeBy(item);
    if (call !== undefined) this.#writable().set(call.id, { name: call.name, namespace: call.namespace });
    const answer = answerOf(item);
    if (answer !== undefined && this.#open.has(answer.id)) this.#writable().delete(answer.id);
  }

  #writable() {
    this.#copy ??= new Map(this.#open);
    this.#open = this.#copy;
    return this.#copy;
  }
}

/** The ids of runs, each text replaced by the next encoded one. */
export function joinRuns(runs: readonly Run[], encoded: Iterator<Int32Array>): Int32Array {
  const parts = runs.map((run) => (typeof run === 'string' ? nextOf(encoded) : run));
  const [only] = parts;
  if (parts.length === 1 && only instanceof Int32Array) return only;
  const length = parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? 1 : part.length), 0);
  const ids = new Int32Array(length);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'number') ids[at] = part;
    else ids.set(part, at);
    at += typeof part === 'number' ? 1 : part.length;
  }
  return ids;
}

function nextOf(encoded: Iterator<Int32Array>): Int32Array {
  const next = encoded.next();
  if (next.done) throw new Error('The encoder returned fewer lists of ids than it got texts.');
  return next.value;
}
