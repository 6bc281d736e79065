import type { TurnItem } from './turn.js';

/** What one turn made of an artifact, as a store keeps it. */
export interface ArtifactRecord {
  /** Plain JSON data. */
  readonly state: unknown;
  /** Token ids, kept as numbers rather than as text; empty for a stage that has none. */
  readonly ids: Int32Array;
}

/**
 * Writes a stage's artifact down so that a chain read from a store goes on where it stopped. A record holds what its turn
 * changed, so that a chain of n turns takes O(n), not O(n^2).
 *
 * `decode([encode(a, undefined), encode(b, a), encode(c, b)])` says the same as `c`.
 */
export interface ArtifactCodec<A> {
  /** Of the records' form. Records of another version are not read: the stage folds the chain's items again. */
  readonly version: number;
  /**
   * The artifact of a chain that has nothing for this stage, also of one that was made without it. Where there is one, a
   * turn that leaves the artifact the same object adds no record.
   */
  readonly empty?: A;
  /**
   * What changed from the parent's artifact to this one. The size depends on what is new.
   * @param previous undefined when nothing came before, or it is not known: the record then says everything
   */
  encode(artifact: A, previous: A | undefined): ArtifactRecord;
  /**
   * @param records from one that says everything to the latest; at least one
   * @param history every item of the chain, so that a record need not repeat what an item says
   */
  decode(records: readonly ArtifactRecord[], history: () => readonly TurnItem[]): A;
}
