import { ApiError, quotable } from '@turnpike/protocol';
import type { ResponseNode } from './node.js';

/** Where earlier responses are found. */
export interface ParentSource {
  /** The tenant's response of this id; undefined for an unknown id and for another tenant's alike. */
  load(tenant: string, id: string): ResponseNode | undefined | Promise<ResponseNode | undefined>;
}

/** Whether anything can follow: what failed or was cancelled is kept to be read, without what a next turn builds on. */
function isContinuable({ response: { status } }: ResponseNode): boolean {
  return status !== 'failed' && status !== 'cancelled';
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
    if (!('id' in found)) {
      const rest = sources.slice(index + 1);
      return found.then((node) => (node && isContinuable(node) ? node : resolveParent(tenant, id, rest)));
    }
    if (isContinuable(found)) return found;
  }
  throw new ApiError('previous_response_not_found', {
    param: 'previous_response_id',
    message: `Previous response with id '${quotable(id)}' not found.`,
  });
}
