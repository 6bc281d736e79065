import { ApiError, type Item } from '@turnpike/protocol';
import { unpackExpansion, unpackSampledIds, type Sealer } from '@turnpike/sealing';
import type { TurnItem } from '@turnpike/turns';

/**
 * The items of a request. Reasoning that comes back with what this server sealed into it is folded with the ids that
 * were sampled for it, token for token; what somebody else sealed cannot be read and is passed over. A compaction that
 * cannot be read is refused: the model would not know what the conversation is about.
 * @param field that the request has them in
 * @throws ApiError invalid_encrypted_content for what was changed, or sealed for another tenant
 */
export function turnItems(
  input: readonly Item[],
  tenant: string,
  sealer: Sealer,
  field: 'input' | 'items' = 'input',
): TurnItem[] {
  return input.map((item, index): TurnItem => {
    if (item.type !== 'reasoning' && item.type !== 'compaction') return { item };
    if (item.encrypted_content === undefined) return { item };
    const opened = sealer.open(tenant, item.encrypted_content);
    if (opened.kind === 'foreign' && item.type === 'reasoning') return { item };
    const read = opened.kind === 'opened' ? readSealed(item.type, opened.bytes) : undefined;
    if (read === undefined) {
      throw new ApiError('invalid_encrypted_content', { param: `${field}[${index}].encrypted_content` });
    }
    return { item, ...read };
  });
}

function readSealed(type: 'reasoning' | 'compaction', bytes: Buffer): Omit<TurnItem, 'item'> | undefined {
  if (type === 'compaction') {
    const expansion = unpackExpansion(bytes);
    return expansion && { expansion };
  }
  const sampled = unpackSampledIds(bytes);
  return sampled && { sampled, brought: true };
}
