import { ApiError, quotable } from '@turnpike/protocol';
import type { ResponseNode } from './node.js';

/** Where earlier responses are found. */
export interface ParentSource {
  /** The tenant's response of this id; undefined for an unknown id and for another tenant's alike. */
  load(tenant: string, id: string): ResponseNode | undefined | Promise<ResponseNode | undefined>;
}

/**
 * The response that `previous_response_id` names, from the first source that has it: the connection's cache, then the
 * store. A promise only when a source had to be waited for.
 *
 * @throws ApiError previous_response_not_found
 */
export function resolveParent(
  tenant: string,
  id: string,
  sources: readonly ParentSource[],
): ResponseNode | Promise<ResponseNode> {
  for (const [index, source] of sources.entries()) {
    const found = source.load(tenant, id);
    if (found === undefined) continue;
    if ('id' in found) return found;
    return found.then((node) => node ?? resolveParent(tenant, id, sources.slice(index + 1)));
  }
  throw new ApiError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${quotable(id)}' not found.`,
  });
}
