import type { ResponseStore } from '@turnpike/conversation';
import { ApiError, quotable, type Item } from '@turnpike/protocol';

/** A reference as clients write it; `type` may be left out or null. */
interface Reference {
  readonly index: number;
  readonly id: string;
}

/** Where items are found by their ids. */
export type ItemSource = Pick<ResponseStore, 'findItems'>;

/**
 * A request body in which items that are only referred to stand in full, so that everything behind sees items and nothing
 * else. The AI SDK sends references to what it knows to be stored.
 * @throws ApiError item_not_found for what is unknown, another tenant's, or was not stored
 */
export async function expandReferences(
  body: unknown,
  tenant: string,
  sources: readonly ItemSource[],
): Promise<unknown> {
  const input = typeof body === 'object' && body !== null && 'input' in body ? body.input : undefined;
  if (!Array.isArray(input)) return body;
  const expanded = await expandItems(input, 'input', tenant, sources);
  return expanded === input ? body : { ...(body as object), input: expanded };
}

/**
 * The same for a list of items; the list itself when nothing in it is a reference.
 * @param field that the list stands in
 * @param sources of items; the first that knows one has it
 * @throws ApiError item_not_found
 */
export async function expandItems(
  items: readonly unknown[],
  field: string,
  tenant: string,
  sources: readonly ItemSource[],
): Promise<readonly unknown[]> {
  const references = items.flatMap(referenceAt);
  if (references.length === 0) return items;
  const found = new Map<string, Item>();
  for (const source of sources) {
    const missing = references.map(({ id }) => id).filter((id) => !found.has(id));
    if (missing.length === 0) break;
    for (const [id, item] of await source.findItems(tenant, missing)) found.set(id, item);
  }
  const expanded = [...items];
  for (const { index, id } of references) {
    const item = found.get(id);
    if (item === undefined) {
      const message = `Item with id '${quotable(id)}' not found.`;
      throw new ApiError('item_not_found', { param: `${field}[${index}].id`, message });
    }
    expanded[index] = item;
  }
  return expanded;
}

function referenceAt(value: unknown, index: number): Reference[] {
  if (typeof value !== 'object' || value === null) return [];
  const { type, id, role } = value as Record<string, unknown>;
  const refers = type === 'item_reference' || (type ?? role ?? undefined) === undefined;
  return refers && typeof id === 'string' ? [{ index, id }] : [];
}
