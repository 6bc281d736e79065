import { Images } from '@turnpike/images';
import type { TurnMeter } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import { Rendering } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import { stageToken, type ArtifactCodec, type Turn, type TurnStage } from '@turnpike/turns';
import { enginePromptLength } from '../turn/engine-prompt.js';
import { moneyError } from './money-error.js';

/** Nothing is carried over from one turn to the next: what is held is that of the turn. */
export type Held = Readonly<Record<string, never>>;

const HELD: Held = Object.freeze({});
const NEEDS = [Routing, Images, Rendering];
const CODEC: ArtifactCodec<Held> = {
  version: 1,
  empty: HELD,
  encode: () => ({ state: null, ids: new Int32Array(0) }),
  decode: () => HELD,
};

export const Hold = stageToken<Held>('hold');

/**
 * Holds the worst case of a turn as soon as its prompt is rendered, beside whatever else is prepared. It asks nobody where
 * there is no budget, and nothing of a turn that is not metered, as when tokens are counted.
 */
export class HoldStage implements TurnStage<Held> {
  readonly token = Hold;
  readonly needs = NEEDS;
  readonly codec = CODEC;
  readonly #turns: Pick<ReadonlyMap<string, TurnMeter>, 'get'>;
  readonly #held = new WeakSet<object>();

  /** @param turns that are metered, by their response ids */
  constructor(turns: Pick<ReadonlyMap<string, TurnMeter>, 'get'>) {
    this.#turns = turns;
  }

  /** @throws ApiError insufficient_quota */
  advance(_previous: Held | undefined, turn: Turn): Held | Promise<Held> {
    const money = turn.phase === 'input' ? this.#turns.get(turn.id) : undefined;
    // Further steps of a turn hold what they need when they are taken.
    if (money === undefined || this.#held.has(money)) return HELD;
    this.#held.add(money);
    const { request } = turn;
    const artifacts = new Map(NEEDS.map((token) => [token.name, turn.artifact<unknown>(token)]));
    const prompt = enginePromptLength(artifacts);
    const taken = money.hold({
      purpose: request.compacts ? 'compaction' : request.generate ? 'answer' : 'warm_up',
      prompt,
      image: turn.artifact(Images).tokens,
      room: request.generate ? Math.max(0, turn.artifact(Routing).contextTokens - prompt) : 0,
      maxOutput: request.generate ? request.maxOutputTokens : 0,
    });
    if (taken === undefined) return HELD;
    return taken.then(
      () => HELD,
      (thrown: unknown) => {
        const error = moneyError(thrown);
        throw error instanceof ApiError ? error : new ApiError('metering_unavailable', { cause: thrown });
      },
    );
  }
}
