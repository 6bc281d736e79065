import { isObject } from './fields.js';

/** Which parts of a valid `input` its client sent as texts. */
export function textsOf(input: unknown): 'input' | ReadonlySet<number> | undefined {
  if (typeof input === 'string') return 'input';
  if (!Array.isArray(input)) return undefined;
  const indexes = new Set<number>();
  for (const [index, item] of input.entries()) {
    if (isObject(item) && typeof item['content'] === 'string') indexes.add(index);
  }
  return indexes.size === 0 ? undefined : indexes;
}

/**
 * The field of a request at a path of its canonical form: a message that was sent as a text has no parts, and what an earlier
 * response or a conversation brought has only the field that named it.
 */
export function sentPath(path: string, sentAsText: 'input' | ReadonlySet<number> | undefined): string {
  const brought = /^(previous_response_id|conversation)\b/.exec(path)?.[0];
  if (brought !== undefined) return brought;
  const index = /^input\[(\d+)\]\.content\[0\]/.exec(path)?.[1];
  if (index === undefined || sentAsText === undefined) return path;
  if (sentAsText === 'input') return 'input';
  return sentAsText.has(Number(index)) ? `input[${index}].content` : path;
}
