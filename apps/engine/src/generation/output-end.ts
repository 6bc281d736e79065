import { HARMONY } from '@turnpike/formats';
import { type SampledIds } from '../model/write.js';

/** Where sampling ends, and why. */
export interface OutputEnd {
  /** Tokens sampled, the stop token included. */
  readonly tokens: number;
  readonly finishReason: 'stop' | 'length';
  /** The stop token; null when the limit was reached or the model ended without one. */
  readonly stopReason: number | null;
}

/** Ids that end sampling whatever the request says, as in gpt-oss's generation config. */
const END_OF_SEQUENCE: readonly number[] = [HARMONY.endOfText, HARMONY.return, HARMONY.call];

/** Finds the end of an output: its first stop token, its own end, or the limit. */
export function outputEnd(sampled: SampledIds, stopTokenIds: readonly number[], limit: number): OutputEnd {
  const stops = new Set([...END_OF_SEQUENCE, ...stopTokenIds]);
  const known = sampled.ids.length + sampled.loop.length;
  for (let i = 0; i < Math.min(known, limit); i++) {
    const id = sampledId(sampled, i);
    if (stops.has(id)) return { tokens: i + 1, finishReason: 'stop', stopReason: id };
  }
  if (sampled.loop.length === 0 && sampled.ids.length <= limit) {
    return { tokens: sampled.ids.length, finishReason: 'stop', stopReason: null };
  }
  return { tokens: limit, finishReason: 'length', stopReason: null };
}

/** Tokens `from` to `to` of an output, `to` excluded. */
export function sampledRange(sampled: SampledIds, from: number, to: number): Int32Array {
  if (to <= sampled.ids.length) return sampled.ids.subarray(from, to);
  return Int32Array.from({ length: to - from }, (_, i) => sampledId(sampled, from + i));
}

function sampledId({ ids, loop }: SampledIds, index: number): number {
  return (index < ids.length ? ids[index] : loop[(index - ids.length) % loop.length]) ?? 0;
}
