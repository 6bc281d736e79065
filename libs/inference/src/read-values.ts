import { ApiError } from '@turnpike/protocol';

/** A JSON object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object; an empty one for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** A count as an engine reports it; what is no count is taken as not reported. */
export function countOf(value: unknown): number | undefined {
  return isCount(value) ? value : undefined;
}

/** One count that servers have several names for: the largest, as some send a zero under the names that they do not use. */
export function largestCount(values: readonly unknown[]): number | undefined {
  const counts = values.filter(isCount);
  return counts.length === 0 ? undefined : Math.max(...counts);
}

/**
 * A list of token ids; none where the field is missing or null.
 * @throws ApiError engine_error for ids that are none
 */
export function idsOf(value: unknown, vocabularySize = Infinity): readonly number[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((id): id is number => isCount(id) && id < vocabularySize)) {
    return value;
  }
  throw new ApiError('engine_error', { cause: new Error('the engine sends ids outside of the vocabulary') });
}

/** The error of an engine that samples text without saying its ids. */
export function textWithoutIds(): ApiError {
  return new ApiError('engine_error', { cause: new Error('the engine sends text and no token ids') });
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
