import type { Piece } from '../format.js';
import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import type { Detokenizer, Tokenizer } from '../tokenizer/types.js';

/** The text tokens of a real vocabulary, and control tokens of any family. */
export function vocabularyWith(controls: readonly string[], name = 'test'): Tokenizer {
  const text = o200kHarmony();
  const first = text.vocabularySize;
  const literal = (id: number) => controls[id - first];
  const detokenizer = (): Detokenizer => {
    const inner = text.detokenizer();
    return {
      push: (id) => (literal(id) === undefined ? inner.push(id) : inner.flush() + (literal(id) ?? '')),
      flush: () => inner.flush(),
    };
  };
  const decode = (ids: ArrayLike<number>) => {
    const one = detokenizer();
    return Array.from(ids, (id) => one.push(id)).join('') + one.flush();
  };
  return {
    name,
    source: 'o200k_harmony',
    fingerprint: `o200k_harmony ${controls.join(' ')}`,
    vocabularySize: first + controls.length,
    encode: (string) => text.encode(string),
    controlId: (token) => (controls.includes(token) ? first + controls.indexOf(token) : undefined),
    bytes: (id) => (literal(id) === undefined ? text.bytes(id) : Buffer.from(literal(id) ?? '')),
    decode,
    detokenizer,
  };
}

/** Pieces written out, with the literals of control tokens. */
export function written(pieces: readonly Piece[], tokenizer: Tokenizer): string {
  return pieces.map((piece) => (typeof piece === 'number' ? tokenizer.decode([piece]) : piece)).join('');
}

/** Each text encoded by itself. */
export function encoded(pieces: readonly Piece[], tokenizer: Tokenizer): number[] {
  return pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
}
