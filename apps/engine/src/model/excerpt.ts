/** The first `count` characters of a text: whole code points, never half of one. */
export function excerpt(text: string, count: number): string {
  // A code point is at most two units, so a prefix of twice the length is enough to look at.
  const head = text.slice(0, count * 2);
  const characters = Array.from(head);
  return characters.length <= count ? head : characters.slice(0, count).join('');
}

/** A quotation of the first `count` characters, with an ellipsis after it where there is more. */
export function quote(text: string, count: number): string {
  const head = excerpt(text, count);
  return head.length < text.length ? `"${head}"…` : `"${head}"`;
}
