import type { ResponseStore } from '@turnpike/conversation';
import { ApiError, quotable } from '@turnpike/protocol';

/** A reference as clients write it; `type` may be left out or null. */
interface Reference {
  readonly index: number;
  readonly id: string;
}

/**
 * A request body in which items that are only referred to stand in full, so that everything behind sees items and nothing
 * else. The AI SDK sends references to what it knows to be stored.
 * @throws ApiError item_not_found for what is unknown, another tenant's, or was not stored
 */
export async function expandReferences(
  body: unknown,
  tenant: string,
  store: ResponseStore,
): Promise<unknown> {
  const input = typeof body === 'object' && body !== null && 'input' in body ? body.input : undefined;
  if (!Array.isArray(input)) return body;
  const references = input.flatMap(referenceAt);
  if (references.length === 0) return body;
  const found = await store.findItems(
    tenant,
    references.map(({ id }) => id),
  );
  const expanded: unknown[] = [...(input as unknown[])];
  for (const { index, id } of references) {
    const item = found.get(id);
    if (item === undefined) {
      const message = `Item with id '${quotable(id)}' not found.`;
      throw new ApiError('item_not_found', { param: `input[${index}].id`, message });
    }
    expanded[index] = item;
  }
  return { ...(body as object), input: expanded };
}

function referenceAt(value: unknown, index: number): Reference[] {
  if (typeof value !== 'object' || value === null) return [];
  const { type, id, role } = value as Record<string, unknown>;
  const refers = type === 'item_reference' || (type ?? role ?? undefined) === undefined;
  return refers && typeof id === 'string' ? [{ index, id }] : [];
}
