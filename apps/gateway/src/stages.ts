import type { TurnStage } from '@turnpike/turns';
import type { ImagesStage } from '@turnpike/images';
import type { RenderingStage } from '@turnpike/rendering';
import type { RoutingStage } from '@turnpike/routing';
import type { SafetyStage } from '@turnpike/safety';
import type { ValidationStage } from '@turnpike/validation';
import type { HoldStage } from './billing/hold.stage.js';

/**
 * The stages of a turn, on one screen. Within a group, stages that do not need each other run side by side.
 *
 * | group       | when it fails                                | stages                                |
 * | ----------- | -------------------------------------------- | ------------------------------------- |
 * | admission   | a plain error: there is no response yet      | validation, routing -> images, safety |
 * | preparation | `response.failed`: the response has begun    | rendering -> hold                     |
 *
 * Safety decides by its rules at once. A classifier that it asks answers beside preparation, and its verdict is awaited
 * before the prompt reaches an engine (`SafetyGate`).
 */
export interface StageList {
  readonly admission: readonly TurnStage<unknown>[];
  readonly preparation: readonly TurnStage<unknown>[];
}

/** The list as it runs. A stage of your own goes into the group whose failure it should share. */
export function stageList(stages: {
  validation: ValidationStage;
  routing: RoutingStage;
  images: ImagesStage;
  safety: SafetyStage;
  rendering: RenderingStage;
  hold: HoldStage;
}): StageList {
  return {
    admission: [stages.validation, stages.routing, stages.images, stages.safety],
    preparation: [stages.rendering, stages.hold],
  };
}
