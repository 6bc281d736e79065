import type { ArtifactCodec } from './artifact-codec.js';
import type { StageToken } from './stage-token.js';
import type { Turn } from './turn.js';

/**
 * One stage of a turn. It folds the turn's new items into what it knew after the parent:
 * `artifact(parent), new items -> artifact(node)`.
 *
 * Three laws (`expectIncremental` tests them): the split of items over turns does not matter; `previous` is never
 * changed; the cost depends on the new items only.
 */
export interface TurnStage<A> {
  readonly token: StageToken<A>;
  /** Stages whose artifacts `advance` reads. Stages that do not need each other run side by side. */
  readonly needs: readonly StageToken<unknown>[];
  /** How a store keeps the artifact. Without one, a chain that is read from the store is folded again from its items. */
  readonly codec?: ArtifactCodec<A>;
  /** @throws ApiError when the turn must be refused. Only in the `input` phase. */
  advance(previous: A | undefined, turn: Turn): A | Promise<A>;
}

/** Artifacts of a node by stage name. */
export type Artifacts = ReadonlyMap<string, unknown>;
