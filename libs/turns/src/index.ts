export { stageToken, type StageToken } from './stage-token.js';
export type { ArtifactCodec, ArtifactRecord } from './artifact-codec.js';
export { applyChanges, changedEntries, type MapChanges } from './map-changes.js';
export type { Artifacts, TurnStage } from './stage.js';
export type { Expansion, Turn, TurnItem, WorkUnit } from './turn.js';
export { lastStart, shownItems, type ShownItems } from './shown-items.js';
export { TurnContext, type TurnStart } from './turn-context.js';
export { Pipeline, type StageGroup } from './pipeline.js';
export {
  LANE_LIMITS,
  LaneScheduler,
  type LaneDecision,
  type LaneId,
  type LaneLimits,
  type LaneRefusal,
  type LaneStart,
} from './lanes.js';
export { TURN_STATES, TurnLifecycle, type TurnState } from './lifecycle.js';
export { expectIncremental, type IncrementalOptions } from './testing.js';
