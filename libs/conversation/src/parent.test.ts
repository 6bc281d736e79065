import { ApiError } from '@turnpike/protocol';
import { describe, expect, it } from '@jest/globals';
import type { ResponseNode } from './node.js';
import { resolveParent, type ParentSource } from './parent.js';
import { node } from './testing/nodes.js';

const NOT_FOUND: unknown = expect.objectContaining({ code: 'previous_response_not_found' });

function ended(status: ResponseNode['response']['status']): ResponseNode {
  const made = node('resp_1');
  return { ...made, response: { ...made.response, status } };
}

const now = (found: ResponseNode | undefined): ParentSource => ({ load: () => found });
const later = (found: ResponseNode | undefined): ParentSource => ({ load: () => Promise.resolve(found) });

describe('the response that is continued', () => {
  it('comes from the first source that has it, at once where none had to be waited for', async () => {
    const [one, other] = [ended('completed'), ended('incomplete')];
    expect(resolveParent('tenant', 'resp_1', [now(undefined), now(one), later(other)])).toBe(one);
    expect(await resolveParent('tenant', 'resp_1', [later(undefined), now(other), later(one)])).toBe(other);
    expect(() => resolveParent('tenant', 'resp_1', [now(undefined)])).toThrow(ApiError);
    await expect(resolveParent('tenant', 'resp_1', [later(undefined)])).rejects.toEqual(NOT_FOUND);
  });

  it.each(['failed', 'cancelled'] as const)('is none that %s, wherever it is kept', async (status) => {
    const over = ended(status);
    expect(() => resolveParent('tenant', 'resp_1', [now(over)])).toThrow(
      "Previous response with id 'resp_1' not found.",
    );
    await expect(resolveParent('tenant', 'resp_1', [later(over)])).rejects.toEqual(NOT_FOUND);
    await expect(resolveParent('tenant', 'resp_1', [now(over), later(over)])).rejects.toEqual(NOT_FOUND);
  });
});
