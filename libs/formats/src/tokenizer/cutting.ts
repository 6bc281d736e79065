import { codePointAt, unitsOf } from './char-set.js';
import { MatchCursor, type SplitMatcher } from './split-matcher.js';

/** Cuts a text into the pieces that are merged by themselves. */
export interface Cutter {
  cursor(text: string): CutCursor;
}

/** The pieces of one text, from its start to its end. */
export interface CutCursor {
  /** Where the piece that begins at `start` (< text.length) ends. */
  pieceEnd(start: number): number;
}

/** What becomes of the matches of a pattern and of the text between them. */
export type SplitBehavior = 'Isolated' | 'Contiguous' | 'MergedWithPrevious' | 'MergedWithNext';

export interface SplitStage {
  readonly matcher: SplitMatcher;
  readonly behavior: SplitBehavior;
}

/** Cuts by patterns one after the other: each sees only one piece of the one before it. Without any, nothing is cut. */
export class PatternCutter implements Cutter {
  constructor(private readonly stages: readonly SplitStage[]) {}

  cursor(text: string): CutCursor {
    const cursors = this.stages.map((stage) => new StageCursor(stage, text));
    const ends = new Float64Array(cursors.length);
    return {
      pieceEnd: (start) => {
        let end = text.length;
        for (const [index, cursor] of cursors.entries()) {
          if ((ends[index] as number) <= start) ends[index] = cursor.pieceEnd(start, end);
          end = ends[index] as number;
        }
        return end;
      },
    };
  }
}

class StageCursor {
  private readonly matches: MatchCursor;
  private readonly behavior: SplitBehavior;

  constructor(
    { matcher, behavior }: SplitStage,
    private readonly text: string,
  ) {
    this.matches = new MatchCursor(matcher, text);
    this.behavior = behavior;
  }

  pieceEnd(start: number, end: number): number {
    const matched = this.matches.match(start, end);
    if (matched < 0) {
      const gapEnd = this.gapEnd(start, end);
      if (this.behavior !== 'MergedWithPrevious' || gapEnd === end) return gapEnd;
      return this.matches.match(gapEnd, end);
    }
    if (this.behavior === 'Contiguous') return this.runOfMatches(matched, end);
    if (this.behavior === 'MergedWithNext' && matched < end) return this.gapEnd(matched, end);
    return matched;
  }

  /** Where the next match begins, at `from` or behind it. */
  private gapEnd(from: number, end: number): number {
    let at = from;
    while (at < end && this.matches.match(at, end) < 0) at += unitsOf(codePointAt(this.text, at));
    return at;
  }

  private runOfMatches(from: number, end: number): number {
    let at = from;
    while (at < end) {
      const next = this.matches.match(at, end);
      if (next < 0) break;
      at = next;
    }
    return at;
  }
}

/**
 * Cuts before spaces, where no token goes on over one: before each (`every`), or before the first of several. Without
 * such a cut a whole text would be merged as one piece, with the same result.
 */
export class SpaceCutter implements Cutter {
  constructor(private readonly every: boolean) {}

  cursor(text: string): CutCursor {
    return {
      pieceEnd: (start) => {
        let at = start + 1;
        if (!this.every) while (text.charCodeAt(at) === 0x20 && text.charCodeAt(at - 1) === 0x20) at++;
        const next = text.indexOf(' ', at);
        return next < 0 ? text.length : next;
      },
    };
  }
}
