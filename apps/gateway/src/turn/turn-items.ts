import { ApiError, type Item } from '@turnpike/protocol';
import { unpackSampledIds, type Sealer } from '@turnpike/sealing';
import type { TurnItem } from '@turnpike/turns';

/**
 * The items of a request. Reasoning that comes back with what this server sealed into it is folded with the ids that
 * were sampled for it, token for token; what somebody else sealed cannot be read and is passed over.
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
    if (item.type !== 'reasoning' || item.encrypted_content === undefined) return { item };
    const opened = sealer.open(tenant, item.encrypted_content);
    if (opened.kind === 'foreign') return { item };
    const sampled = opened.kind === 'opened' ? unpackSampledIds(opened.bytes) : undefined;
    if (sampled === undefined) {
      throw new ApiError('invalid_encrypted_content', { param: `${field}[${index}].encrypted_content` });
    }
    return { item, sampled };
  });
}
