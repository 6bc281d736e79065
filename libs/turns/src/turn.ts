import type { Item, ResponseRequest } from '@turnpike/protocol';
import type { StageToken } from './stage-token.js';

/** A new item of a turn, and what the server knows of it beyond what a client sees. */
export interface TurnItem {
  readonly item: Item;
  /** The ids it was sampled as, when a model wrote it. */
  readonly sampled?: { readonly format: string; readonly ids: Int32Array } | undefined;
  /** True where a client sent it back, with ids that were sealed into it: its text is what the client says it is. */
  readonly brought?: true | undefined;
  /** What it stands for, when its content is sealed. */
  readonly expansion?: Expansion | undefined;
}

/** What a sealed item stands for. */
export interface Expansion {
  /** The items that stages see in its place. */
  readonly items: readonly Item[];
  /** Whether they also stand for everything before them. */
  readonly replaces: boolean;
}

/** What the folding stages see of a turn. Everything in it is new; what came before is in the previous artifacts. */
export interface Turn {
  /** Id of the response this turn makes. */
  readonly id: string;
  readonly tenant: string;
  readonly request: ResponseRequest;
  /** The items to fold: new input, or, once the model is done, its output. */
  readonly items: readonly TurnItem[];
  /**
   * Items of the request that came before these and are known: the first of these stands at `input[known]`. Negative
   * when as many of these come from a conversation, and only those behind them from the request.
   */
  readonly known: number;
  /** `input` may be refused by a stage; `output` is what the model did and is always taken in. */
  readonly phase: 'input' | 'output';
  /** Whether the turn is under way: an earlier step of it has been folded, and what that decided stands. */
  readonly begun: boolean;
  /** Ends with the client, the deadline or a refusal by another stage. */
  readonly signal: AbortSignal;
  /** Artifact of a stage this one needs. Throws when the stage did not declare the need. */
  artifact<A>(stage: StageToken<A>): A;
  /**
   * Every item that came before `items`: from the root to the parent and, in the output phase, this turn's input.
   * O(history): only for a fold that has to start anew.
   */
  history(): readonly TurnItem[];
  /** Counts work done, so that tests can prove O(new): `tokens_encoded`, `items_validated`, `characters_classified`. */
  count(unit: WorkUnit, amount: number): void;
}

export type WorkUnit =
  | 'items_validated'
  | 'tools_validated'
  | 'items_rendered'
  | 'tokens_encoded'
  | 'tokens_copied'
  | 'characters_classified'
  | 'routes_resolved'
  | 'images_loaded';
