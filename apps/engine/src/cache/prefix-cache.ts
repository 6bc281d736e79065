import { commonPrefix } from './common-prefix.js';
import { TokenSequence } from './token-sequence.js';

const COMMA = 0x2c;
/** Bytes compared to see whether a kept sequence is worth a full comparison. */
const PROBE = 32;

/** One kept sequence: a prompt and everything generated after it. */
export class Slot<Note> {
  /** True while a request generates into it: it then is read by others, but appended to by that request only. */
  running = false;

  constructor(
    readonly sequence: TokenSequence,
    /** What the reader of the sequence has noted about it, so that a continuation reads only what is new. */
    public notes: readonly Note[],
    /** Only prompts of the same salt see it. */
    readonly salt: string,
  ) {}
}

/** Where a prompt meets a kept sequence. */
export interface Match<Note> {
  /** Undefined when nothing is shared. */
  readonly slot: Slot<Note> | undefined;
  /** Tokens shared from the start: what an engine would call cached. */
  readonly tokens: number;
  /** Bytes of the slot's JSON, commas included, that hold these tokens. */
  readonly bytes: number;
  /** Of the prompt. */
  readonly salt: string;
}

/**
 * The most recently used sequences, compared token by token with each prompt. Unlike the block cache of a real
 * engine it counts single tokens, which makes what a client changed in its history visible exactly.
 *
 * A prompt is looked for in all slots. That stays cheap without an index: a slot is compared in full only if it
 * agrees with the prompt at the end of what has already been found, and the slots that the prompt seems to
 * continue come first.
 */
export class PrefixCache<Note> {
  /** Least recently used first. */
  private readonly slots: Slot<Note>[] = [];

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.slots.length;
  }

  /** The longest prefix of json[start, end), canonical JSON without a last comma, that is kept under this salt. */
  match(json: Buffer, start: number, end: number, salt = ''): Match<Note> {
    const length = end - start;
    let best: Match<Note> = { slot: undefined, tokens: 0, bytes: 0, salt };
    for (const slot of this.likelyFirst(json, start, end, salt)) {
      const kept = slot.sequence.json();
      if (!reaches(kept, json, start, Math.min(best.bytes + 1, length))) continue;
      let bytes = commonPrefix(json, start, end, kept);
      // The last number of the prompt has no comma after it; in the kept sequence every number has one.
      if (bytes === length && kept[bytes] === COMMA) bytes++;
      else if (bytes > 0) bytes = kept.lastIndexOf(COMMA, bytes - 1) + 1;
      if (bytes > best.bytes) best = { slot, tokens: slot.sequence.tokensBefore(bytes), bytes, salt };
      if (best.bytes > length) break;
    }
    return best;
  }

  /**
   * The slot that holds the whole prompt: the matched one, appended to, when the prompt continues all of it and
   * nobody else does; otherwise a new one that starts as a copy of what is shared. Evicts the least recently used
   * one when full. `tail` is what the prompt holds after the match, `tailJson` its JSON with a comma after each.
   */
  admit(match: Match<Note>, tail: Int32Array, tailJson: Buffer): Slot<Note> {
    const slot = this.continued(match) ?? this.branch(match);
    slot.sequence.append(tail, tailJson);
    const at = this.slots.indexOf(slot);
    if (at >= 0) this.slots.splice(at, 1);
    this.slots.push(slot);
    if (this.slots.length > this.capacity) this.slots.shift();
    return slot;
  }

  private continued(match: Match<Note>): Slot<Note> | undefined {
    const slot = match.slot;
    return slot && !slot.running && slot.sequence.length === match.tokens ? slot : undefined;
  }

  private branch({ slot, tokens, bytes, salt }: Match<Note>): Slot<Note> {
    if (!slot) return new Slot<Note>(new TokenSequence(), [], salt);
    return new Slot(slot.sequence.prefix(tokens, bytes), slot.notes, salt);
  }

  private likelyFirst(json: Buffer, start: number, end: number, salt: string): Slot<Note>[] {
    const visible = this.slots.filter((slot) => slot.salt === salt);
    const ranked = visible.toReversed().map((slot) => {
      const kept = slot.sequence.json();
      const continues = kept.length <= end - start && reaches(kept, json, start, kept.length);
      return { slot, rank: continues ? kept.length : 0 };
    });
    return ranked.sort((a, b) => b.rank - a.rank).map(({ slot }) => slot);
  }
}

/** Whether the last few of the first `length` bytes are the same in both. */
function reaches(kept: Buffer, json: Buffer, start: number, length: number): boolean {
  if (kept.length < length) return false;
  const from = Math.max(0, length - PROBE);
  return json.compare(kept, from, length, start + from, start + length) === 0;
}
