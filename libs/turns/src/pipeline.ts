import type { Artifacts, TurnStage } from './stage.js';
import { orderStages, requireUniqueNames } from './stage-order.js';
import type { TurnContext } from './turn-context.js';

type Stage = TurnStage<unknown>;

/**
 * When a stage runs: `admission` before the response exists, so that what fails there is a plain error;
 * `preparation` after `response.created` has gone out.
 */
export type StageGroup = 'admission' | 'preparation';

/**
 * Runs the stages of a turn, each as soon as its needs are done and those that do not need each other side by side.
 *
 * One pipeline holds both groups, so that `needs` are checked over all of them: a preparation stage may need an
 * admission stage, whose artifact the turn still holds when the second group runs.
 */
export class Pipeline {
  readonly #groups: Readonly<Record<StageGroup, readonly Stage[]>>;

  /** @throws Error when names repeat, or a need is missing, comes too late or leads back to its stage */
  constructor(admission: readonly Stage[], preparation: readonly Stage[] = []) {
    requireUniqueNames([...admission, ...preparation]);
    this.#groups = {
      admission: orderStages(admission, [], preparation),
      preparation: orderStages(preparation, admission, []),
    };
  }

  /**
   * Folds the turn's items into `previous`, by every stage or by one group of them. The result holds all artifacts the
   * turn has made so far; it is a promise only when a stage returned one.
   *
   * When a stage fails the turn's signal is aborted, no further stage starts, and once those that run have ended the
   * failure is thrown: the first in pipeline order, where failures that only echo the abort do not count.
   *
   * @param previous artifacts of the parent, or in the output phase those after the input; undefined at a root
   * @throws what a stage threw; the signal's reason when the turn was aborted from outside before all stages had run
   */
  run(
    turn: TurnContext,
    previous: Artifacts | undefined,
    group?: StageGroup,
  ): Artifacts | Promise<Artifacts> {
    const { admission, preparation } = this.#groups;
    const stages = group === undefined ? [...admission, ...preparation] : this.#groups[group];
    requireFresh(stages, turn);
    if (group === 'preparation') requireRun(admission, turn);
    return new PipelineRun(stages, turn, previous).start();
  }
}

function requireFresh(stages: readonly Stage[], turn: TurnContext): void {
  const again = stages.find(({ token }) => turn.artifacts.has(token.name));
  if (again) throw new Error(`Stage '${again.token.name}' has already run in this phase of the turn.`);
}

function requireRun(admission: readonly Stage[], turn: TurnContext): void {
  const missing = admission.find(({ token }) => !turn.artifacts.has(token.name));
  if (missing)
    throw new Error(
      `Preparation cannot start: stage '${missing.token.name}' of the admission group has not run.`,
    );
}

class PipelineRun {
  readonly #stages: readonly Stage[];
  readonly #turn: TurnContext;
  readonly #previous: Artifacts | undefined;
  readonly #waiting: Set<Stage>;
  readonly #failures = new Map<Stage, unknown>();
  #running = 0;
  #onEnd: (() => void) | undefined;

  constructor(stages: readonly Stage[], turn: TurnContext, previous: Artifacts | undefined) {
    this.#stages = stages;
    this.#turn = turn;
    this.#previous = previous;
    this.#waiting = new Set(stages);
  }

  start(): Artifacts | Promise<Artifacts> {
    this.#startReady();
    return this.#running === 0 ? this.#result() : this.#resultLater();
  }

  async #resultLater(): Promise<Artifacts> {
    await new Promise<void>((resolve) => (this.#onEnd = resolve));
    return this.#result();
  }

  /** One pass is enough: the stages are ordered, so what a synchronous one makes ready comes after it. */
  #startReady(): void {
    for (const stage of this.#waiting) {
      if (this.#turn.signal.aborted) return;
      if (!stage.needs.every((need) => this.#turn.artifacts.has(need.name))) continue;
      this.#waiting.delete(stage);
      this.#advance(stage);
    }
  }

  #advance(stage: Stage): void {
    const startedAt = performance.now();
    try {
      const artifact = stage.advance(this.#previous?.get(stage.token.name), this.#turn.viewFor(stage));
      if (!isPromise(artifact)) return this.#done(stage, startedAt, artifact);
      this.#running += 1;
      artifact.then(
        (value) => this.#ended(() => this.#done(stage, startedAt, value)),
        (error: unknown) => this.#ended(() => this.#failed(stage, startedAt, error)),
      );
    } catch (error) {
      this.#failed(stage, startedAt, error);
    }
  }

  #ended(settle: () => void): void {
    this.#running -= 1;
    settle();
    this.#startReady();
    if (this.#running === 0) this.#onEnd?.();
  }

  #done(stage: Stage, startedAt: number, artifact: unknown): void {
    this.#time(stage, startedAt);
    this.#turn.artifacts.set(stage.token.name, artifact);
  }

  #failed(stage: Stage, startedAt: number, error: unknown): void {
    this.#time(stage, startedAt);
    const { signal } = this.#turn;
    if (signal.aborted && (this.#failures.size === 0 || isEcho(error, signal.reason))) return;
    this.#failures.set(stage, error);
    this.#turn.abort(error);
  }

  #time(stage: Stage, startedAt: number): void {
    this.#turn.timings.set(stage.token.name, Math.round((performance.now() - startedAt) * 1000));
  }

  #result(): Artifacts {
    for (const stage of this.#stages) {
      if (this.#failures.has(stage)) throw this.#failures.get(stage);
    }
    const ranAll = this.#stages.every(({ token }) => this.#turn.artifacts.has(token.name));
    if (!ranAll) throw this.#turn.signal.reason;
    return new Map(this.#turn.artifacts);
  }
}

/** A stage that stops because the signal told it to reports the abort, not a failure of its own. */
function isEcho(error: unknown, reason: unknown): boolean {
  if (error === reason) return true;
  if (typeof error !== 'object' || error === null) return false;
  return ('name' in error && error.name === 'AbortError') || ('cause' in error && error.cause === reason);
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
