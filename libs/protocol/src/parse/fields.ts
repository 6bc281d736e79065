import { z } from 'zod';
import { ApiError } from '../errors.js';
import { quotable } from './quotable.js';

/** Path of a field as clients write it: `input[2].content[0].text`. */
export function fieldPath(base: string, path: readonly PropertyKey[]): string {
  let result = base;
  for (const key of path) {
    if (typeof key === 'number') result += `[${key}]`;
    else result += result === '' ? String(key) : `.${String(key)}`;
  }
  return result;
}

/** An optional field: absent, null and undefined are the same. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** An optional field with a default for absent and null. */
export function withDefault<T extends z.ZodType>(schema: T, fallback: () => z.output<T>) {
  return schema.nullish().transform((value) => value ?? fallback());
}

/**
 * The id of an item that a client sends: stores look items up by it, so that it has to be one they can keep and index.
 */
export const itemId = z
  .string()
  .regex(/^[\x21-\x7e]{1,256}$/, 'an id is 1 to 256 printable ASCII characters');

/**
 * An array that is given up at its first bad element. `z.array` collects an issue for each one, and a body of
 * 16 MiB can hold eight million.
 */
export function list<T extends z.ZodType>(element: T) {
  return z.array(z.unknown()).transform((values, context): z.output<T>[] => {
    const parsed: z.output<T>[] = [];
    for (const [index, value] of values.entries()) {
      const result = element.safeParse(value, { reportInput: true });
      if (!result.success) {
        // Reporting an issue again is the same object in zod; its types tell a raw issue from a finished one.
        const issue = result.error.issues[0] as z.core.$ZodRawIssue;
        context.issues.push({ ...issue, path: [index, ...(issue.path ?? [])] });
        return z.NEVER;
      }
      parsed.push(result.data);
    }
    return parsed;
  });
}

/**
 * Parses `value`, naming the first field at fault.
 * @param base path of `value` in the request, '' for the request itself
 * @throws ApiError missing_required_parameter | invalid_type | invalid_value
 */
export function parseField<T extends z.ZodType>(schema: T, value: unknown, base: string): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue === undefined) throw new ApiError('invalid_value', { param: base });
  throw issueError(issue, base);
}

function issueError(issue: z.core.$ZodIssue, base: string): ApiError {
  const param = fieldPath(base, issue.path);
  if (issue.code === 'invalid_union' && typeof issue.discriminator === 'string') {
    const input = (issue.input as Record<string, unknown>)[issue.discriminator];
    const options = 'options' in issue && Array.isArray(issue.options) ? issue.options.map(String) : [];
    return isAbsent(input) ? missing(param) : wrongValue(param, input, options);
  }
  // A null in a list is there; a field that is null is not.
  if (issue.input === undefined || (issue.input === null && typeof issue.path.at(-1) === 'string')) {
    return missing(param);
  }
  if (issue.code === 'invalid_type') return wrongType(param, issue.expected, issue.input);
  if (issue.code === 'invalid_value') return wrongValue(param, issue.input, issue.values.map(String));
  return invalid(param, issue.message);
}

/** True for a field that is not there: nulls equal absence. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A required field that is not there. */
export function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', {
    param,
    message: `Missing required parameter: '${param}'.`,
  });
}

/** Types as JSON calls them, where zod has another name. */
const JSON_TYPES: Readonly<Record<string, string>> = { int: 'integer', record: 'object' };

/** A field of the wrong JSON type. */
export function wrongType(param: string, expected: string, got: unknown): ApiError {
  const wanted = JSON_TYPES[expected] ?? expected;
  return new ApiError('invalid_type', {
    param,
    message: `Invalid type for '${param}': expected ${wanted}, got ${jsonType(got)}.`,
  });
}

/** A field whose value is not one of those supported. For enum-like fields only: the value is repeated. */
export function wrongValue(param: string, got: unknown, supported: readonly string[]): ApiError {
  const shown = typeof got === 'string' ? `'${quotable(got)}'` : jsonType(got);
  return invalid(param, `${shown}. Supported values are: ${supported.map((v) => `'${v}'`).join(', ')}`);
}

/** A field with a value that cannot be taken. */
export function invalid(param: string, reason: string): ApiError {
  return new ApiError('invalid_value', { param, message: `Invalid value for '${param}': ${reason}.` });
}

function jsonType(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number out of range';
  return typeof value;
}
