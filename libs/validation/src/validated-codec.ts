import type { PairedCallType, Tool } from '@turnpike/protocol';
import { changedEntries, applyChanges, type ArtifactCodec, type MapChanges } from '@turnpike/turns';
import type { Validated } from './validated.js';

/** What a turn changed. Tools that joined a chain as items never leave it. */
interface ValidatedRecord {
  readonly calls: MapChanges<PairedCallType>;
  readonly tools: readonly Tool[];
}

const NO_IDS = new Int32Array(0);

/** How a store keeps {@link Validated}. */
export const validatedCodec: ArtifactCodec<Validated> = {
  version: 1,

  encode({ waitingCalls, addedTools }, previous) {
    const state: ValidatedRecord = {
      calls: changedEntries(waitingCalls, previous?.waitingCalls),
      tools: addedTools.slice(previous?.addedTools.length ?? 0),
    };
    return { state, ids: NO_IDS };
  },

  decode(records) {
    const waitingCalls = new Map<string, PairedCallType>();
    const addedTools: Tool[] = [];
    for (const { state } of records) {
      const { calls, tools } = state as ValidatedRecord;
      applyChanges(waitingCalls, calls);
      addedTools.push(...tools);
    }
    return { waitingCalls, addedTools };
  },
};
