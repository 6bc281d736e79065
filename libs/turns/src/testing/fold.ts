import { parseRequest, type ResponseRequest } from '@turnpike/protocol';
import { Pipeline } from '../pipeline.js';
import type { Artifacts, TurnStage } from '../stage.js';
import { TurnContext } from '../turn-context.js';
import type { TurnItem, WorkUnit } from '../turn.js';

/** A node made by folding, with what the checked stage did in its turn. */
export interface Folded<A> {
  readonly artifact: A;
  readonly artifacts: Artifacts;
  /** Every item from the root to this node. */
  readonly items: readonly TurnItem[];
  readonly work: ReadonlyMap<WorkUnit, number>;
  readonly readHistory: boolean;
}

/** Folds one turn's items into a parent. */
export type Fold<A> = (parent: Folded<A> | undefined, items: readonly TurnItem[]) => Promise<Folded<A>>;

interface Surroundings {
  readonly request?: Partial<ResponseRequest>;
  readonly needs?: readonly TurnStage<unknown>[];
  readonly artifacts?: Artifacts;
}

/** A fold by `stage` in its surroundings. The needed stages run first, so that their work is not taken for its own. */
export function foldedBy<A>(stage: TurnStage<A>, { request, needs = [], artifacts }: Surroundings): Fold<A> {
  const fixed = [...(artifacts ?? [])].map(([name, artifact]): TurnStage<unknown> => {
    return { token: { name }, needs: [], advance: () => artifact };
  });
  const pipeline = new Pipeline([...fixed, ...needs], [stage]);
  let turns = 0;

  return async (parent, items) => {
    const before = parent?.items ?? [];
    const isOutput =
      parent !== undefined && items.length > 0 && items.every(({ sampled }) => sampled !== undefined);
    let inStage = false;
    let readHistory = false;
    const turn = new TurnContext(
      {
        id: `resp_${(turns += 1)}`,
        tenant: 'tenant',
        request: { ...PLAIN_REQUEST, ...request, input: items.map(({ item }) => item) },
        items,
        history: () => {
          readHistory ||= inStage;
          return before;
        },
      },
      isOutput ? 'output' : 'input',
    );
    await pipeline.run(turn, parent?.artifacts, 'admission');
    turn.work.clear();
    inStage = true;
    const made = await pipeline.run(turn, parent?.artifacts, 'preparation');
    // The pipeline puts there what the stage of this token returned.
    const artifact = made.get(stage.token.name) as A;
    return { artifact, artifacts: made, items: [...before, ...items], work: turn.work, readHistory };
  };
}

const PLAIN_REQUEST: ResponseRequest = parseRequest(
  { model: 'model', input: [], store: false, generate: false },
  'websocket',
);
