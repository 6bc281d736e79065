/** White space that is layout around marks. */
export const BLANK = ' \t\r\n';

/** Offset of the first character that is not white space; the length when there is none. */
export function firstVisible(text: string): number {
  let at = 0;
  while (at < text.length && BLANK.includes(text.charAt(at))) at++;
  return at;
}
