/** A vocabulary file that cannot be used: which, and what in it. */
export class VocabularyError extends Error {
  /**
   * @param file path of the file
   * @param field what in it, as `model.merges[5]` or a metadata key; undefined for the file as a whole
   */
  constructor(file: string, field: string | undefined, why: string) {
    super(`Vocabulary ${file}${field === undefined ? '' : `, ${field}`}: ${why}`);
    this.name = 'VocabularyError';
  }
}
