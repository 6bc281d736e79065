import type { Piece } from '../format.js';
import { IMAGE, type Content } from '../spoken/spoken.js';

/** The texts of content, without its images. */
export function textOf(content: Content): string {
  return content.filter((part) => part !== IMAGE).join('');
}

/** Content with `image` for each of its images. */
export function contentPieces(content: Content, image: readonly Piece[]): readonly Piece[] {
  return content.flatMap((part) => (part === IMAGE ? image : [part]));
}
