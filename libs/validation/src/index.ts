export { validatedCodec } from './validated-codec.js';
export { checkUpdate, refuseFiles, Validation, ValidationStage } from './validation.stage.js';
export type { Validated } from './validated.js';
export { type CallableTool } from './tool-names.js';
export { foldCalls, type WaitingCalls } from './tool-pairing.js';
export { toolRule, type ToolRule } from './tool-rule.js';
export { answerCheck, type AnswerCheck } from './answer-schema.js';
