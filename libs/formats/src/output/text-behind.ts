const WORDS = /[\p{L}\p{N}]/u;
const SIGNS = /^[\s`}\])]+/;

/** What stands behind the arguments of a call without what is no text: brackets too many, the end of a block of code. */
export function textBehind(text: string): string {
  return WORDS.test(text) ? text.replace(SIGNS, '') : '';
}
