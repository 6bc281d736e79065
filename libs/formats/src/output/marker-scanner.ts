/** What a scanner hands its findings to. */
export interface ScanTarget {
  /** Markers that end the text of now. None begins with another. */
  readonly markers: readonly string[];
  /**
   * Text that holds no marker. What is not taken is looked at again, with the markers of then.
   * @param idAt number of the id at which the text from an offset on begins: the one it is the first text of, or the next
   * @returns how much of the text was taken; all of it, unless the markers have changed
   */
  text(text: string, idAt: (offset: number) => number): number;
  /** @param id number of the id at which the marker begins */
  marker(marker: string, id: number): void;
}

/**
 * Finds markers that are written out in text, over any split of the text. Held back is only the longest end of the text
 * that may begin a marker.
 */
export class MarkerScanner {
  private held = '';
  /** Where in what is held the text of each id begins, and the number of that id. */
  private readonly starts: { at: number; id: number }[] = [];

  constructor(private readonly target: ScanTarget) {}

  /** @param id number of the id that the text comes from */
  feed(text: string, id: number): void {
    if (text === '') return;
    this.starts.push({ at: this.held.length, id });
    this.held += text;
    this.scan(false);
  }

  /** Hands over what is held: nothing follows that could make a marker of it. */
  flush(): void {
    this.scan(true);
  }

  private scan(last: boolean): void {
    while (this.held !== '') {
      const { at, marker } = this.find(last);
      if (at > 0) {
        const taken = this.target.text(this.held.slice(0, at), (offset) => this.idAt(offset));
        this.drop(taken);
        // Behind the text, what was a marker before it may be text as well.
        if (taken < at || marker !== undefined) continue;
      }
      if (marker === undefined) return;
      const id = this.idAt(0);
      this.drop(marker.length);
      this.target.marker(marker, id);
    }
  }

  /** The first place where a marker stands, or where one may stand when more text comes. */
  private find(last: boolean): { at: number; marker?: string } {
    const { held } = this;
    const { markers } = this.target;
    if (markers.length === 0) return { at: held.length };
    for (let at = 0; at < held.length; at++) {
      for (const marker of markers) {
        if (marker.charCodeAt(0) !== held.charCodeAt(at)) continue;
        if (held.startsWith(marker, at)) return { at, marker };
        if (!last && marker.length > held.length - at && marker.startsWith(held.slice(at))) return { at };
      }
    }
    return { at: held.length };
  }

  private idAt(offset: number): number {
    const start = this.starts.find(({ at }) => at >= offset);
    return start?.id ?? (this.starts.at(-1)?.id ?? -1) + 1;
  }

  private drop(length: number): void {
    this.held = this.held.slice(length);
    for (const start of this.starts) start.at -= length;
    // An id whose text has been handed over in part stays, so that what follows is known to begin behind it.
    while (this.starts.length > 1 && (this.starts[1]?.at ?? 1) <= 0) this.starts.shift();
    if (this.held === '') this.starts.length = 0;
  }
}
