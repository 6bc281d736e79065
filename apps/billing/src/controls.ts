/** Whether text has control characters: nobody types them, and Postgres has no place for the first of them. */
export function hasControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}
