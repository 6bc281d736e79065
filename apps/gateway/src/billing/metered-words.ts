import type { Sealer } from '@turnpike/sealing';
import { createHmac } from 'node:crypto';

/** Service tiers by name, as OpenAI has them. */
const SERVICE_TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'flex', 'priority', 'scale']);

/** Hexadecimal digits of a lane: enough to tell those of one connection apart. */
const LANE_DIGITS = 12;

/**
 * The words of a client that a usage record would hold. A record stays where the response itself is not kept, so that none of
 * what clients write freely may be in it: a lane is told by what its name hashes to under a key of the tenant, and a service tier that is none is the
 * default.
 */
export function meteredWords(
  {
    streamId,
    serviceTier = 'default',
  }: { readonly streamId?: string | undefined; readonly serviceTier?: string | undefined },
  tenant: string,
  sealer: Pick<Sealer, 'saltOf'>,
): { readonly lane: string | null; readonly serviceTier: string } {
  return {
    lane: streamId === undefined ? null : laneName(streamId, sealer.saltOf(tenant)),
    serviceTier: SERVICE_TIERS.has(serviceTier) ? serviceTier : 'default',
  };
}

function laneName(streamId: string, salt: string): string {
  return createHmac('sha256', salt).update(streamId).digest('hex').slice(0, LANE_DIGITS);
}
