/** Bytes that are appended to in amortised O(new). */
export class GrowableBytes {
  private store: Buffer;
  private size = 0;

  constructor(capacity = 1024) {
    this.store = Buffer.allocUnsafe(capacity);
  }

  get length(): number {
    return this.size;
  }

  append(bytes: Uint8Array): void {
    const size = this.size + bytes.length;
    if (size > this.store.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, this.store.length * 2));
      this.store.copy(larger, 0, 0, this.size);
      this.store = larger;
    }
    this.store.set(bytes, this.size);
    this.size = size;
  }

  /** A view of everything appended; later appends may leave it behind on an older store, unchanged. */
  view(): Buffer {
    return this.store.subarray(0, this.size);
  }
}

/** 32-bit integers that are appended to in amortised O(new). */
export class GrowableInts {
  private store: Int32Array;
  private size = 0;

  constructor(capacity = 256) {
    this.store = new Int32Array(capacity);
  }

  get length(): number {
    return this.size;
  }

  append(values: Int32Array): void {
    const size = this.size + values.length;
    if (size > this.store.length) {
      const larger = new Int32Array(Math.max(size, this.store.length * 2));
      larger.set(this.store.subarray(0, this.size));
      this.store = larger;
    }
    this.store.set(values, this.size);
    this.size = size;
  }

  /** A view of everything appended; later appends may leave it behind on an older store, unchanged. */
  view(): Int32Array {
    return this.store.subarray(0, this.size);
  }
}
