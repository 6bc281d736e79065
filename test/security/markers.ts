import { o200kHarmony } from '@turnpike/formats';
import { randomInt } from 'node:crypto';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** Letters of the word that all markers of a run share: 26^12 runs. */
const RUN_LETTERS = 12;

/** How bytes may hold a text; what a search looks for. */
export interface Needle {
  readonly form: string;
  readonly bytes: Buffer;
}

/**
 * Texts that stand nowhere else in the world, one for each place where a client can put text.
 *
 * All of a run share one rare word, so that one search finds every one of them. They look like names, because names are
 * what error messages repeat; and each of their words is a token sequence of its own, whatever stands around them.
 */
export class Markers {
  /** The shared word. */
  readonly run = Array.from({ length: RUN_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  readonly #places = new Map<string, 'kept' | 'passing'>();

  /** The marker of a place whose text is kept when its request is to be stored. @param place letters and `_` */
  kept(place: string): string {
    return this.#mark(place, 'kept');
  }

  /** The marker of a place whose text is never kept: what failed, what means nothing here, headers and the like. */
  passing(place: string): string {
    return this.#mark(place, 'passing');
  }

  /** The places that were marked so far. */
  places(fate: 'kept' | 'passing'): string[] {
    return [...this.#places].flatMap(([place, its]) => (its === fate ? [place] : []));
  }

  textOf(place: string): string {
    return `mk_${this.run}_${place}_end`;
  }

  /** Finds every marker of this run, in all forms. */
  needles(): Needle[] {
    return needlesOf(`_${this.run}`);
  }

  /** The places whose markers stand in a text. */
  placesIn(text: string): string[] {
    return [...text.matchAll(new RegExp(`mk_${this.run}_([a-z_]+?)_end`, 'g'))].map(
      ([, place = '']) => place,
    );
  }

  #mark(place: string, fate: 'kept' | 'passing'): string {
    if (!/^[a-z_]+$/.test(place)) throw new Error(`${place} cannot be the name of a place`);
    if ((this.#places.get(place) ?? fate) !== fate) throw new Error(`${place} is marked in two ways`);
    this.#places.set(place, fate);
    return this.textOf(place);
  }
}

/** Every form in which `text`, which begins with `_`, is looked for. */
export function needlesOf(text: string): Needle[] {
  const ids = o200kHarmony().encode(text);
  const ids32 = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  const hex = Buffer.from(text).toString('hex');
  return [
    { form: 'UTF-8', bytes: Buffer.from(text) },
    { form: 'UTF-16LE', bytes: Buffer.from(text, 'utf16le') },
    { form: 'hex', bytes: Buffer.from(hex) },
    { form: 'HEX', bytes: Buffer.from(hex.toUpperCase()) },
    ...[0, 1, 2].map((before) => ({
      form: `base64 behind ${before} bytes`,
      bytes: base64Behind(text, before),
    })),
    { form: 'token ids, 32 bits each', bytes: ids32 },
    { form: 'token ids, as JSON', bytes: Buffer.from([...ids].join(',')) },
  ];
}

/** The digits that are the same whatever stands around `text`, when its first byte is at this offset in its group of three. */
function base64Behind(text: string, offset: number): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const digits = bytes.toString('base64').replace(/.?=+$/, '');
  return Buffer.from(digits.slice(Math.ceil((offset * 4) / 3)));
}
