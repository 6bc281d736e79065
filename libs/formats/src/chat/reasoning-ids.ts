import type { Item } from '@turnpike/protocol';
import type { Piece, Place, TakenItem } from '../format.js';
import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { ASSISTANT, FRESH, openOf } from './message.js';

let opening: Int32Array | undefined;

/** What opens a message stands in front of the field, in ids of its own: the message may be open already. */
function leadIds(): Int32Array {
  return (opening ??= o200kHarmony().encode(ASSISTANT));
}

/**
 * Ids of reasoning as the field that a server said it in, for servers that name it otherwise than `reasoning_content`: behind what
 * opens its message.
 * @param value what the field held, as JSON writes it
 */
export function reasoningFieldIds(name: string, value: unknown): Int32Array {
  const field = o200kHarmony().encode(`,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const lead = leadIds();
  const ids = new Int32Array(lead.length + field.length);
  ids.set(lead);
  ids.set(field, lead.length);
  return ids;
}

/** Such a field in the message that stands open, or in one of its own. What has calls open goes on as it is rendered. */
export function takeOverReasoning(item: Item, ids: Int32Array, place: Place): TakenItem | undefined {
  if (item.type !== 'reasoning' || !beginsMessage(ids)) return undefined;
  const open = place === undefined ? undefined : openOf(place);
  if (open === undefined || open.reasoning) return { closes: true, place: { ...FRESH, reasoning: true } };
  if (open.calls === 'open') return undefined;
  return { closes: false, ids: ids.subarray(leadIds().length), place: { ...open, reasoning: true } };
}

/** The field alone: what opens its message stays for what follows it there. */
export function reasoningCut(run: ArrayLike<Piece>): readonly [from: number, to: number] {
  if (!(run instanceof Int32Array)) return [Math.max(0, run.length - 1), run.length];
  return [beginsMessage(run) ? leadIds().length : 0, run.length];
}

function beginsMessage(ids: Int32Array): boolean {
  return leadIds().every((id, index) => ids[index] === id);
}
