import type { Format, SegmentKind } from '@turnpike/formats';
import type { TurnItem } from '@turnpike/turns';
import type { TokenLog } from './token-log.js';

/**
 * The end of a body from which reasoning may still be cut: everything since the last cut. For a format that keeps all
 * reasoning it stays empty.
 */
export interface Tail {
  /** Whether an answer stands in it, so that the next user item finishes the turn. */
  readonly answered: boolean;
  readonly reasoning: ReasoningSegment | undefined;
}

/** Where a reasoning item stands in the body; linked, so that adding one shares the others. */
export interface ReasoningSegment {
  readonly before: ReasoningSegment | undefined;
  /** First id, and the one behind the last. */
  readonly start: number;
  readonly end: number;
}

export const EMPTY_TAIL: Tail = { answered: false, reasoning: undefined };

/** An item that will be in the body. */
export interface PlannedItem {
  readonly entry: TurnItem;
  /** Of reasoning, whether its turn goes on, so that a later user item may cut it, or is finished, so that it is cut. */
  readonly reasoning: 'running' | 'finished' | undefined;
}

/** What new items do to a body. */
export interface TailPlan {
  /** Whether the reasoning of the tail so far is cut before anything is added. */
  readonly cutsTail: boolean;
  /** The new items. What a user item further on would cut at once is marked, and never encoded. */
  readonly items: readonly PlannedItem[];
  /** Whether the tail has an answer behind these items. */
  readonly answered: boolean;
}

/**
 * Goes through new items one by one: a user item behind an answer finishes the turn before it, and reasoning of
 * finished turns is forgotten.
 *
 * @param keepsReasoning the request wants the reasoning of all turns kept; what was cut earlier stays cut
 */
export function planTail(
  tail: Tail,
  entries: readonly TurnItem[],
  format: Format,
  keepsReasoning: boolean,
): TailPlan {
  const kindOf = ({ item }: TurnItem): SegmentKind =>
    format.dropsFinishedReasoning ? format.segmentKind(item) : 'other';
  let items: PlannedItem[] = [];
  /** Items in front of the current tail, out of reach of further cuts. */
  const finished: PlannedItem[] = [];
  let { answered } = tail;
  let cutsTail = false;
  for (const entry of entries) {
    const kind = kindOf(entry);
    if (kind === 'user' && answered && !keepsReasoning) {
      for (const item of items)
        finished.push(item.reasoning === undefined ? item : { ...item, reasoning: 'finished' });
      items = [];
      cutsTail = true;
      answered = false;
    }
    answered ||= kind === 'answer';
    items.push({ entry, reasoning: kind === 'reasoning' ? 'running' : undefined });
  }
  return { cutsTail, items: [...finished, ...items], answered };
}

/** The body without these segments of its end, and how many ids behind the first of them were copied. */
export function cutSegments(
  body: TokenLog,
  last: ReasoningSegment | undefined,
): { body: TokenLog; copied: number } {
  const segments: ReasoningSegment[] = [];
  for (let segment = last; segment !== undefined; segment = segment.before) segments.push(segment);
  const first = segments.at(-1);
  if (first === undefined) return { body, copied: 0 };
  const end = body.slice(first.start, body.length);
  let kept = end.length;
  for (const segment of segments.reverse()) kept -= segment.end - segment.start;
  const copy = new Int32Array(kept);
  let filled = 0;
  segments.forEach((segment, index) => {
    const next = segments[index + 1]?.start ?? body.length;
    copy.set(end.subarray(segment.end - first.start, next - first.start), filled);
    filled += next - segment.end;
  });
  return { body: body.prefix(first.start).append(copy), copied: kept };
}
