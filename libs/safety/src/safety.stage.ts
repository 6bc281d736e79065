import { setImmediate } from 'node:timers/promises';
import { sentPath } from '@turnpike/protocol';
import { lastStart, stageToken, type Turn, type TurnItem, type TurnStage } from '@turnpike/turns';
import type { Category } from './categories.js';
import { ChainFold } from './chain-fold.js';
import { hasHead, headDigest, headKeyOf } from './head.js';
import type { SafetyPolicy } from './policy.js';
import { safetyCodec } from './safety-codec.js';
import { Scanner } from './scanner.js';
import { emptyState, withFlags, type SafetyState } from './state.js';
import { headTexts } from './texts.js';
import {
  ContentBlocked,
  safetyUnavailable,
  type Finding,
  type SafetyOutcome,
  type Verdict,
} from './verdict.js';
import { VerdictCache } from './verdict-cache.js';

export const Safety = stageToken<SafetyState>('safety');

/** One decision about an input, for those who count and record them. */
export interface SafetyDecision {
  readonly responseId: string;
  readonly tenant: string;
  /** Whether the response is to be stored: what is said in others is nowhere to be written down. */
  readonly store: boolean;
  readonly outcome: SafetyOutcome;
  readonly policy: string;
  readonly findings: readonly Finding[];
  /** Categories that a classifier named. */
  readonly categories: readonly Category[];
  /** What was looked at. */
  readonly texts: readonly string[];
}

/** Items that are read without a pause. */
const SLICE_ITEMS = 64;

export interface SafetyStageOptions {
  /** Undefined where input is not looked at. */
  readonly policy: SafetyPolicy | undefined;
  readonly onDecision?: ((decision: SafetyDecision) => void) | undefined;
}

/**
 * Classifies what is new in a chain before it can reach a model: every text that a format may show, at once by the rules,
 * and by a classifier where there is one. The stage waits for nobody: {@link verdictOn} is what has to be awaited before the
 * chain is shown to a model, or before anything that was made of it is shown to a client.
 */
export class SafetyStage implements TurnStage<SafetyState> {
  readonly token = Safety;
  readonly needs = [];
  readonly codec;
  readonly scanner: Scanner | undefined;
  readonly #policy: SafetyPolicy | undefined;
  readonly #onDecision: (decision: SafetyDecision) => void;
  readonly #verdicts = new VerdictCache();
  /** By what is known of a chain: the verdict on it that has yet to come. */
  readonly #pending = new WeakMap<SafetyState, Promise<SafetyState>>();
  readonly #off = emptyState('');

  constructor({ policy, onDecision = () => undefined }: SafetyStageOptions) {
    this.#policy = policy;
    this.#onDecision = onDecision;
    this.scanner = policy && new Scanner(policy.rules);
    this.codec = safetyCodec(policy?.window ?? 0, this.#off, this.scanner);
  }

  /** Version of the policy; undefined where input is not looked at. */
  get version(): string | undefined {
    return this.#policy?.version;
  }

  /**
   * At once, but for input of very many items, between which others have their turn.
   * @throws ContentBlocked for what the rules refuse; ApiError safety_unavailable
   */
  advance(previous: SafetyState | undefined, turn: Turn): SafetyState | Promise<SafetyState> {
    const policy = this.#policy;
    if (policy === undefined || this.scanner === undefined) return this.#off;
    const known = isUsable(previous, policy) ? previous : undefined;
    if (known !== undefined && turn.items.length === 0 && hasHead(known.head, turn.request)) return known;
    const before = known === undefined ? turn.history() : [];
    const folding = this.#fold(known ?? emptyState(policy.version), before, turn);
    const first = folding.next();
    if (first.done === true) return this.#decided(first.value, known, policy, turn);
    return inSlices(folding, turn.signal).then((fold) => this.#decided(fold, known, policy, turn));
  }

  /** @throws as {@link advance} does */
  #decided(fold: ChainFold, known: SafetyState | undefined, policy: SafetyPolicy, turn: Turn): SafetyState {
    turn.count('characters_classified', fold.characters);
    if (turn.phase === 'output') return fold.state;
    const blocked = fold.findings.filter(({ action }) => action === 'block');
    const [first] = blocked;
    if (first !== undefined) {
      const categories = withFlags(
        [],
        blocked.map(({ category }) => category),
      );
      this.#report('blocked', fold, turn, []);
      throw new ContentBlocked(categories, sentPath(first.path, turn.request.sentAsText));
    }
    return this.#classified(fold, known?.window ?? '', policy, turn);
  }

  /**
   * The verdict on exactly this chain: what is known of it once it is there.
   * @throws ContentBlocked; ApiError safety_unavailable
   */
  verdictOn(state: SafetyState): SafetyState | Promise<SafetyState> {
    return this.#pending.get(state) ?? state;
  }

  /** Yields between slices of items. */
  *#fold(from: SafetyState, history: readonly TurnItem[], turn: Turn): Generator<void, ChainFold> {
    const { scanner } = this;
    if (scanner === undefined) throw new Error('safety is off');
    const items = [...history, ...turn.items];
    const start = Math.max(0, lastStart(items));
    const base =
      lastStart(items) === -1
        ? from
        : { ...emptyState(from.policy), head: from.head, unchecked: from.unchecked };
    const fold = new ChainFold(scanner, base, this.#policy?.window ?? 0);
    const changesHead = !hasHead(from.head, turn.request);
    if (changesHead) {
      const key = headKeyOf(turn.request);
      fold.head(headTexts(turn.request), { key, digest: headDigest(key) });
    }
    for (const [index, entry] of items.entries()) {
      if (index < start) continue;
      fold.add(entry, pathOf(index - history.length + turn.known, index < history.length, turn));
      if ((index + 1) % SLICE_ITEMS === 0) yield;
    }
    if (changesHead || fold.lead !== base.lead) fold.seam('instructions');
    return fold;
  }

  /** Asks the classifier about what is new, unless it has been asked about just that. */
  #classified(fold: ChainFold, context: string, policy: SafetyPolicy, turn: Turn): SafetyState {
    const { state } = fold;
    const { classifier } = policy;
    if (fold.texts.length === 0) return state;
    const request = { texts: fold.texts, context, findings: fold.findings, chain: state.chain };
    let answer: Verdict | Promise<Verdict>;
    try {
      const key = [turn.tenant, policy.version, state.chain, state.head.digest].join(' ');
      answer = this.#verdicts.get(key, () => classifier.classify(request));
    } catch (thrown) {
      return this.#unanswered(thrown, fold, policy, turn);
    }
    if (!(answer instanceof Promise)) return this.#answered(answer, fold, turn);
    const settled = answer.then(
      (verdict) => this.#answered(verdict, fold, turn),
      (thrown: unknown) => this.#unanswered(thrown, fold, policy, turn),
    );
    // Whoever needs the verdict awaits it; that nobody does is no failure.
    settled.catch(() => undefined);
    this.#pending.set(state, settled);
    return state;
  }

  #answered({ action, categories }: Verdict, fold: ChainFold, turn: Turn): SafetyState {
    const { state } = fold;
    if (action === 'block') {
      this.#report('blocked', fold, turn, categories);
      throw new ContentBlocked(categories, sentPath(fold.texts[0]?.path ?? 'input', turn.request.sentAsText));
    }
    this.#report(state.unchecked ? 'unchecked' : 'passed', fold, turn, categories);
    return action === 'flag' ? { ...state, flags: withFlags(state.flags, categories) } : state;
  }

  #unanswered(thrown: unknown, fold: ChainFold, { failure }: SafetyPolicy, turn: Turn): SafetyState {
    this.#report('unchecked', fold, turn, []);
    if (failure === 'closed') throw safetyUnavailable(thrown);
    return { ...fold.state, unchecked: true };
  }

  #report(outcome: SafetyOutcome, fold: ChainFold, turn: Turn, categories: readonly Category[]): void {
    const { id: responseId, tenant } = turn;
    const { findings, state } = fold;
    const texts = fold.texts.map(({ text }) => text);
    this.#onDecision({
      responseId,
      tenant,
      store: turn.request.store,
      outcome,
      policy: state.policy,
      findings,
      categories,
      texts,
    });
  }
}

/** The rest of a fold, with everything else that waits between its slices. @throws what `signal` was ended with */
async function inSlices(folding: Generator<void, ChainFold>, signal: AbortSignal): Promise<ChainFold> {
  for (;;) {
    await setImmediate();
    signal.throwIfAborted();
    const step = folding.next();
    if (step.done === true) return step.value;
  }
}

/** What an earlier policy made of a chain counts for nothing; what could not be classified is tried again, once one can. */
function isUsable(
  previous: SafetyState | undefined,
  { version, classifier }: SafetyPolicy,
): previous is SafetyState {
  if (previous?.policy !== version) return false;
  return !previous.unchecked || classifier.available === false;
}

/** Path of an item as its client sent it. */
function pathOf(index: number, isHistory: boolean, { request }: Turn): string {
  if (isHistory) return request.conversation === undefined ? 'previous_response_id' : 'conversation';
  return index < 0 ? 'conversation' : `input[${index}]`;
}
