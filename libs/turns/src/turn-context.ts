import type { ResponseRequest } from '@turnpike/protocol';
import type { StageToken } from './stage-token.js';
import type { TurnStage } from './stage.js';
import type { Turn, TurnItem, WorkUnit } from './turn.js';

/** What a turn starts from. */
export interface TurnStart {
  /** Id of the response the turn makes. */
  readonly id: string;
  readonly tenant: string;
  readonly request: ResponseRequest;
  /** The new input items. */
  readonly items: readonly TurnItem[];
  /** Items of the request that came before those and need no folding, see {@link Turn.known}; default 0. */
  readonly known?: number;
  /** Items from the root to the parent; called only by a fold that has to start anew. */
  readonly history: () => readonly TurnItem[];
}

/**
 * One turn while it runs: what the stages read, and what they leave behind. The pipeline hands each stage a view of
 * it ({@link viewFor}), so that a stage sees only the artifacts it declared.
 */
export class TurnContext {
  readonly id: string;
  readonly tenant: string;
  readonly request: ResponseRequest;
  readonly items: readonly TurnItem[];
  readonly known: number;
  readonly phase: Turn['phase'];
  readonly begun: boolean;
  readonly history: () => readonly TurnItem[];
  /** Artifacts made so far in this phase, by stage name; the pipeline writes them. */
  readonly artifacts = new Map<string, unknown>();
  /** Work counted so far in this phase, over all stages. */
  readonly work = new Map<WorkUnit, number>();
  /** Microseconds from start to end of each stage of this phase; stages side by side overlap. */
  readonly timings = new Map<string, number>();
  readonly #controller = new AbortController();

  constructor(start: TurnStart, phase: Turn['phase'] = 'input', begun = phase === 'output') {
    this.id = start.id;
    this.tenant = start.tenant;
    this.request = start.request;
    this.items = start.items;
    this.known = start.known ?? 0;
    this.history = start.history;
    this.phase = phase;
    this.begun = begun;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the turn: the client left, the deadline passed, a stage refused. Only the first reason counts. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /**
   * The same turn a step further: with what the model wrote, or with what the client gave it while it ran. Its signal is
   * a fresh one: output is taken in even when the client has gone.
   */
  next(items: readonly TurnItem[], phase: Turn['phase'], request = this.request): TurnContext {
    const history = () => [...this.history(), ...this.items];
    return new TurnContext({ id: this.id, tenant: this.tenant, request, items, history }, phase, true);
  }

  /** The turn as `stage` sees it. */
  viewFor(stage: TurnStage<unknown>): Turn {
    return new StageView(this, stage);
  }
}

class StageView implements Turn {
  readonly #context: TurnContext;
  readonly #stage: TurnStage<unknown>;

  constructor(context: TurnContext, stage: TurnStage<unknown>) {
    this.#context = context;
    this.#stage = stage;
  }

  get id(): string {
    return this.#context.id;
  }
  get tenant(): string {
    return this.#context.tenant;
  }
  get request(): ResponseRequest {
    return this.#context.request;
  }
  get items(): readonly TurnItem[] {
    return this.#context.items;
  }
  get known(): number {
    return this.#context.known;
  }
  get phase(): Turn['phase'] {
    return this.#context.phase;
  }
  get begun(): boolean {
    return this.#context.begun;
  }
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  artifact<A>(token: StageToken<A>): A {
    if (!this.#stage.needs.some((need) => need.name === token.name)) {
      throw new Error(
        `Stage '${this.#stage.token.name}' reads the artifact of '${token.name}' without declaring it in 'needs'.`,
      );
    }
    // The pipeline starts a stage only once all its needs are here, each made by the stage of that token.
    return this.#context.artifacts.get(token.name) as A;
  }

  history(): readonly TurnItem[] {
    return this.#context.history();
  }

  count(unit: WorkUnit, amount: number): void {
    const { work } = this.#context;
    work.set(unit, (work.get(unit) ?? 0) + amount);
  }
}
