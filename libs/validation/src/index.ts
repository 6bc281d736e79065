export { Validation, ValidationStage, type Validated } from './validation.stage.js';
