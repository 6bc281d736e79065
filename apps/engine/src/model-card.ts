/** What the engine says of the one model it serves. */
export interface ModelCard {
  /** Its name. */
  readonly model: string;
  /** Longest prompt plus output, in tokens. */
  readonly context: number;
}

/** Injection token of the model card. */
export const MODEL_CARD = Symbol('ModelCard');
