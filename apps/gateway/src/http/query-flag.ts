import { ApiError } from '@turnpike/protocol';

/** How clients write booleans in a query: JavaScript's way, Python's, and as numbers. */
const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  1: true,
  false: false,
  False: false,
  0: false,
};

/**
 * A boolean of a query; one that is left out, or empty, is false.
 * @throws ApiError invalid_value for anything else: a client that asked for a stream must not be given something else
 */
export function queryFlag(query: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = query[name];
  if (value === undefined || value === '') return false;
  const flag = typeof value === 'string' && Object.hasOwn(FLAGS, value) ? FLAGS[value] : undefined;
  if (flag !== undefined) return flag;
  throw new ApiError('invalid_value', { param: name, message: `'${name}' must be true or false.` });
}
