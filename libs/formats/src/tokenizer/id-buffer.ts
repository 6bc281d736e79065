/** A list of ids that grows in place and is used again for the next text. */
export class IdBuffer {
  private ids = new Int32Array(KEPT);
  private used = 0;

  get length(): number {
    return this.used;
  }

  push(id: number): void {
    if (this.used === this.ids.length) this.grow(this.used + 1);
    this.ids[this.used++] = id;
  }

  append(ids: Int32Array): void {
    if (this.used + ids.length > this.ids.length) this.grow(this.used + ids.length);
    this.ids.set(ids, this.used);
    this.used += ids.length;
  }

  /** A copy of the ids from `from` on. */
  since(from: number): Int32Array {
    return this.ids.slice(from, this.used);
  }

  /** A copy of all ids; the buffer is empty afterwards, and small again. */
  take(): Int32Array {
    const taken = this.ids.slice(0, this.used);
    this.used = 0;
    if (this.ids.length > KEPT) this.ids = new Int32Array(KEPT);
    return taken;
  }

  private grow(needed: number): void {
    const larger = new Int32Array(Math.max(needed, this.ids.length * 2));
    larger.set(this.ids.subarray(0, this.used));
    this.ids = larger;
  }
}

/** Ids kept allocated between two texts: 64 kB. */
const KEPT = 16_384;
