import type { PairedCallType, Tool } from '@turnpike/protocol';
import { changedEntries, applyChanges, type ArtifactCodec, type MapChanges } from '@turnpike/turns';
import type { Validated } from './validated.js';

/** What a turn changed. Tools that joined a chain as items leave it only where it starts anew. */
interface ValidatedRecord {
  readonly calls: MapChanges<PairedCallType>;
  /** How many of the tools before this turn are still there; those listed follow them. */
  readonly kept: number;
  readonly tools: readonly Tool[];
}

const NO_IDS = new Int32Array(0);

/** How a store keeps {@link Validated}. */
export const validatedCodec: ArtifactCodec<Validated> = {
  version: 2,

  encode({ waitingCalls, addedTools }, previous) {
    const before = previous?.addedTools ?? [];
    const kept = before.every((tool, index) => tool === addedTools[index]) ? before.length : 0;
    const state: ValidatedRecord = {
      calls: changedEntries(waitingCalls, previous?.waitingCalls),
      kept,
      tools: addedTools.slice(kept),
    };
    return { state, ids: NO_IDS };
  },

  decode(records) {
    const waitingCalls = new Map<string, PairedCallType>();
    const addedTools: Tool[] = [];
    for (const { state } of records) {
      const { calls, kept, tools } = state as ValidatedRecord;
      applyChanges(waitingCalls, calls);
      addedTools.splice(kept, Infinity, ...tools);
    }
    return { waitingCalls, addedTools };
  },
};
