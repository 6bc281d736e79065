/** Longest name, id or enum value that an error repeats, in characters. */
const MAX_QUOTED = 128;
const NAME_LIKE = new RegExp(`^[\\x21-\\x7e]{1,${MAX_QUOTED}}$`);

/**
 * A name, id or enum value as an error message may repeat it. What has blanks, is long or is not ASCII could be
 * prompt text in the wrong field, and prompts belong in no error and no log: of such a value only the length shows.
 */
export function quotable(value: string): string {
  return NAME_LIKE.test(value) ? value : `(${value.length} characters)`;
}
