/** A list of ids that grows in place. */
export class IdBuffer {
  private ids: Int32Array;
  private used = 0;

  /** @param capacity ids expected; more are taken all the same */
  constructor(capacity: number) {
    this.ids = new Int32Array(capacity);
  }

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

  private grow(needed: number): void {
    const larger = new Int32Array(Math.max(needed, this.ids.length * 2));
    larger.set(this.ids.subarray(0, this.used));
    this.ids = larger;
  }
}
