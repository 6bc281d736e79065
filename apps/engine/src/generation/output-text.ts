/** The text of an output, made while its ids come. */
export interface OutputText {
  /**
   * The text that has become whole.
   * @param stop the stop token, which is never part of the text
   * @param last whether these are the last ids
   */
  push(ids: Int32Array, stop: number | null, last: boolean): string;
}
