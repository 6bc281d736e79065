import { applyChanges, changedEntries, type ArtifactCodec, type MapChanges } from '@turnpike/turns';
import type { Place } from '@turnpike/formats';
import { NO_SETTINGS, type ChainSettings } from './chain-settings.js';
import type { HeadKey } from './head.js';
import { NOTHING_OPEN, type ChainEnd, type Rendered, type RenderedHead } from './rendered.js';
import type { ReasoningSegment, Tail } from './tail.js';
import { TokenLog } from './token-log.js';

/**
 * What a turn changed. A turn that cut reasoning from the body says so by keeping less of it: what stood behind the cut
 * is among its own ids again, once, because nothing in front of a cut is ever cut again.
 */
interface RenderedState {
  readonly format: string;
  /** Only where the head changed. */
  readonly head?: { readonly key: HeadKey; readonly length: number } | undefined;
  /** Ids of the body before this turn that are still in it; those behind the head's in the record follow them. */
  readonly kept: number;
  readonly answered: boolean;
  readonly reasoning: SegmentChanges;
  readonly calls: MapChanges<Call>;
  /** Only where an item of the turn has changed them. */
  readonly settings?: ChainSettings | undefined;
  /** Only where it changed: the place, null for none, and how many ids at the end of the record close it. */
  readonly end?: { readonly place: Exclude<Place, undefined> | null; readonly length: number } | undefined;
}

interface SegmentChanges {
  /** Whether the segments before this turn are still there. */
  readonly kept: boolean;
  readonly added: readonly (readonly [start: number, end: number])[];
}

interface Call {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** How a store keeps {@link Rendered}: reading it back encodes no text. */
export const renderedCodec: ArtifactCodec<Rendered> = {
  version: 1,

  encode({ format, head, body, tail, calls, settings, end }, previous) {
    const headIds = head === previous?.head ? undefined : head.tokens.toIds();
    const endsAnew = end !== (previous?.end ?? NOTHING_OPEN);
    const kept = previous === undefined ? 0 : body.sharedLength(previous.body);
    const state: RenderedState = {
      format,
      head: headIds && { key: head.key, length: headIds.length },
      kept,
      answered: tail.answered,
      reasoning: changedSegments(tail.reasoning, previous?.tail.reasoning),
      calls: changedEntries(calls, previous?.calls),
      settings: settings === (previous?.settings ?? NO_SETTINGS) ? undefined : settings,
      end: endsAnew ? { place: end.place ?? null, length: end.closing.length } : undefined,
    };
    const bodyIds = body.slice(kept, body.length);
    return { state, ids: joined(joined(headIds, bodyIds), endsAnew ? end.closing : undefined) };
  },

  decode(records) {
    const body = new GrowingIds();
    const calls = new Map<string, Call>();
    let head: RenderedHead | undefined;
    let format = '';
    let tail: Tail = { answered: false, reasoning: undefined };
    let settings = NO_SETTINGS;
    let end: ChainEnd = NOTHING_OPEN;
    for (const { state, ids } of records) {
      const change = state as RenderedState;
      const headLength = change.head?.length ?? 0;
      if (change.head !== undefined) {
        head = { key: change.head.key, tokens: TokenLog.EMPTY.append(ids.subarray(0, headLength)) };
      }
      const bodyEnd = ids.length - (change.end?.length ?? 0);
      body.replaceFrom(change.kept, ids.subarray(headLength, bodyEnd));
      if (change.end !== undefined) {
        end = { place: change.end.place ?? undefined, closing: ids.slice(bodyEnd) };
      }
      tail = {
        answered: change.answered,
        reasoning: withSegments(tail.reasoning, change.reasoning),
      };
      applyChanges(calls, change.calls);
      settings = change.settings ?? settings;
      format = change.format;
    }
    if (head === undefined) throw new Error('The records of a rendered conversation begin without its head.');
    return { format, head, body: TokenLog.EMPTY.append(body.ids), tail, calls, settings, end };
  },
};

function changedSegments(
  last: ReasoningSegment | undefined,
  previous: ReasoningSegment | undefined,
): SegmentChanges {
  const added: [number, number][] = [];
  let segment = last;
  for (; segment !== undefined && segment !== previous; segment = segment.before) {
    added.push([segment.start, segment.end]);
  }
  return { kept: segment === previous, added: added.reverse() };
}

function withSegments(
  before: ReasoningSegment | undefined,
  { kept, added }: SegmentChanges,
): ReasoningSegment | undefined {
  let last = kept ? before : undefined;
  for (const [start, end] of added) last = { before: last, start, end };
  return last;
}

function joined(first: Int32Array | undefined, second: Int32Array | undefined): Int32Array {
  if (first === undefined || second === undefined) return first ?? second ?? new Int32Array();
  const ids = new Int32Array(first.length + second.length);
  ids.set(first);
  ids.set(second, first.length);
  return ids;
}

/** The ids of a body while its records are replayed. */
class GrowingIds {
  #buffer = new Int32Array(1024);
  #length = 0;

  get ids(): Int32Array {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Keeps the first `kept` ids and puts these behind them. */
  replaceFrom(kept: number, ids: Int32Array): void {
    const length = kept + ids.length;
    if (length > this.#buffer.length) {
      const larger = new Int32Array(Math.max(length, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, kept));
      this.#buffer = larger;
    }
    this.#buffer.set(ids, kept);
    this.#length = length;
  }
}
