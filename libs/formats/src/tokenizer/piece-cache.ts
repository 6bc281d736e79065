/**
 * Ids of pieces met before, bounded: two generations, of which the older is dropped when the younger is full. A
 * piece in use moves to the younger one, so hostile text cannot push out more than it brings in.
 */
export class PieceCache {
  private young = new Map<string, Int32Array>();
  private old = new Map<string, Int32Array>();

  /** @param capacity pieces per generation */
  constructor(private readonly capacity: number) {}

  get(piece: string): Int32Array | undefined {
    const found = this.young.get(piece);
    if (found !== undefined) return found;
    const older = this.old.get(piece);
    if (older !== undefined) this.set(piece, older);
    return older;
  }

  set(piece: string, ids: Int32Array): void {
    if (this.young.size >= this.capacity) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(detached(piece), ids);
  }
}

/** A copy that does not keep alive the text it was cut from: V8 makes substrings of 13 and more units views. */
function detached(piece: string): string {
  return piece.length < 13 ? piece : Buffer.from(piece, 'utf16le').toString('utf16le');
}
