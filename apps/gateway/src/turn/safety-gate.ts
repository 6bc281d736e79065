import type { ResponseAssembler } from '@turnpike/assembly';
import type { ApiError, ResponseSafety, Usage } from '@turnpike/protocol';
import {
  ContentBlocked,
  Safety,
  type Category,
  type OutputScanner,
  type SafetyStage,
} from '@turnpike/safety';
import type { Artifacts } from '@turnpike/turns';
import { artifactOf } from './artifact-of.js';
import { GuardedAssembler, OutputBlocked } from './guarded-assembler.js';

export interface SafetyGateOptions {
  readonly stage: SafetyStage;
  /** Whether inference may start before the verdict on its input is there. */
  readonly races: boolean;
  /** Makes what looks through one output; undefined where output is not looked at. */
  readonly output?: (() => OutputScanner) | undefined;
  readonly onOutput?: ((decision: OutputDecision) => void) | undefined;
}

/** What was found in one output. */
export interface OutputDecision {
  readonly responseId: string;
  readonly tenant: string;
  readonly store: boolean;
  readonly blocked: boolean;
  readonly scanner: OutputScanner;
}

/** Where a turn meets the content policy: before its prompt reaches an engine, and before its output reaches a client. */
export class SafetyGate {
  readonly #options: SafetyGateOptions;

  constructor(options: SafetyGateOptions) {
    this.#options = options;
  }

  /** Whether inference may start before the verdict is there. */
  get races(): boolean {
    return this.#options.races;
  }

  /**
   * The artifacts once the verdict on their chain is there. An interruption does not end the wait: what is kept of a
   * conversation is what was decided about.
   * @throws ContentBlocked; ApiError safety_unavailable
   */
  async settled(artifacts: Artifacts): Promise<Artifacts> {
    const verdict = this.pending(artifacts);
    return verdict === undefined ? artifacts : new Map([...artifacts, [Safety.name, await verdict]]);
  }

  /** The verdict on a chain that has yet to come. */
  pending(artifacts: Artifacts): Promise<unknown> | undefined {
    const verdict = this.#options.stage.verdictOn(artifactOf(artifacts, Safety));
    return verdict instanceof Promise ? verdict : undefined;
  }

  /** What the output of one response goes through. */
  guard(assembler: ResponseAssembler): GuardedAssembler {
    return new GuardedAssembler(assembler, this.#options.output?.());
  }

  /** Records what was found in an output that has ended. */
  ended(guard: GuardedAssembler, turn: { id: string; tenant: string; request: { store: boolean } }): void {
    const { scanner } = guard;
    if (scanner === undefined) return;
    const { id: responseId, tenant, request } = turn;
    this.#options.onOutput?.({ responseId, tenant, store: request.store, blocked: guard.blocked, scanner });
  }

  /** What a response says of it; undefined where there is no policy, or nothing was decided. */
  shown(
    artifacts: Artifacts | undefined,
    failure: ApiError | undefined,
    { scanner, blocked }: GuardedAssembler,
  ): ResponseSafety | undefined {
    const policy = this.#options.stage.version ?? scanner?.version;
    if (policy === undefined) return undefined;
    if (failure instanceof ContentBlocked) {
      return { state: 'blocked', policy, categories: [...failure.categories], where: 'input' };
    }
    if (failure?.code === 'safety_unavailable') return { state: 'unchecked', policy };
    if (artifacts === undefined) return undefined;
    const { flags, head, unchecked } = artifactOf(artifacts, Safety);
    const found = new Set<Category>([...flags, ...head.flags, ...(scanner?.categories ?? [])]);
    const categories = found.size === 0 ? {} : { categories: [...found].sort() };
    if (blocked) return { state: 'blocked', policy, ...categories, where: 'output' };
    return { state: unchecked ? 'unchecked' : 'passed', policy, ...categories };
  }

  /**
   * Looks through a text of the model that is not shown item by item.
   * @throws OutputBlocked
   */
  requireShown(text: string, usage: Usage): void {
    const scanner = this.#options.output?.();
    scanner?.whole(text);
    if (scanner?.blocked === true) throw new OutputBlocked(usage);
  }
}
