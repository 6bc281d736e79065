import type { Format, OpenCalls, Piece, TokenEncoder } from '@turnpike/formats';
import { answerOf, callMadeBy, type Item } from '@turnpike/protocol';
import { shownItems, stageToken, type StageToken, type Turn, type TurnStage } from '@turnpike/turns';
import { foldSettings, NO_SETTINGS } from './chain-settings.js';
import { headKeyOf, headSettingsOf, sameHead } from './head.js';
import type { Rendered } from './rendered.js';
import { renderedCodec } from './rendered-codec.js';
import { cutSegments, EMPTY_TAIL, planTail, type PlannedItem, type ReasoningSegment } from './tail.js';
import { TokenLog } from './token-log.js';

export const Rendering = stageToken<Rendered>('rendering');

/** Where rendering gets what it does not know itself. */
export interface FormatProvider {
  /** The stage that says in which format the model of this turn reads. */
  readonly formatToken: StageToken<{ readonly format: Format }>;
  encoder(format: Format): Pick<TokenEncoder, 'encodeAll'>;
  /** YYYY-MM-DD. Asked at the first response of a chain. */
  today(): string;
}

/** What is known of the items where a chain starts anew behind a summary of itself. */
const NOTHING_YET: Pick<Rendered, 'body' | 'tail' | 'calls' | 'settings'> = {
  body: TokenLog.EMPTY,
  tail: EMPTY_TAIL,
  calls: new Map(),
  settings: NO_SETTINGS,
};

/** A stretch of a prompt: pieces yet to be encoded, or ids as a model sampled them. */
type Run = Piece | Int32Array;

/**
 * Keeps the prompt of a chain: renders the new items and appends them, and the head again when its settings change.
 *
 * What the model sampled in this format is taken over by its ids. A chain whose model changes to another format is
 * rendered anew from its items: the one case that costs the whole history, and it is counted as such.
 */
export class RenderingStage implements TurnStage<Rendered> {
  readonly token = Rendering;
  readonly codec = renderedCodec;
  readonly needs: readonly StageToken<unknown>[];
  readonly #provider: FormatProvider;

  constructor(provider: FormatProvider) {
    this.#provider = provider;
    this.needs = [provider.formatToken];
  }

  advance(previous: Rendered | undefined, turn: Turn): Rendered | Promise<Rendered> {
    const { format } = turn.artifact(this.#provider.formatToken);
    const known = previous?.format === format.name ? previous : undefined;
    const { startsAnew, entries } = shownItems(
      known === undefined ? [...turn.history(), ...turn.items] : turn.items,
    );
    const base = known && startsAnew ? { ...known, ...NOTHING_YET } : known;
    const settings = foldSettings(
      base?.settings ?? NO_SETTINGS,
      entries.map(({ item }) => item),
    );
    const key = headKeyOf(turn.request, settings, previous?.head.key.date ?? this.#provider.today());
    const head = base && sameHead(base.head.key, key) ? base.head : undefined;
    if (base !== undefined && head !== undefined && entries.length === 0) return base;

    const plan = planTail(
      base?.tail ?? EMPTY_TAIL,
      entries,
      format,
      turn.request.reasoning.context === 'all_turns',
    );
    const headRuns =
      head === undefined ? format.renderHead(headSettingsOf(turn.request, settings, key.date)) : [];
    const { runs, calls } = renderItems(plan.items, base?.calls ?? new Map(), format, turn);

    const build = (encoded: readonly Int32Array[]): Rendered => {
      const texts = encoded.values();
      for (const ids of encoded) turn.count('tokens_encoded', ids.length);
      const tokens = head?.tokens ?? TokenLog.EMPTY.append(joinRuns(headRuns, texts));
      let body = base?.body ?? TokenLog.EMPTY;
      let reasoning = base?.tail.reasoning;
      if (plan.cutsTail) {
        const cut = cutSegments(body, reasoning);
        turn.count('tokens_copied', cut.copied);
        body = cut.body;
        reasoning = undefined;
      }
      let end = body.length;
      const added = plan.items.map(({ mayBeCut }, index) => {
        const ids = joinRuns(runs[index] ?? [], texts);
        if (mayBeCut) reasoning = addSegment(reasoning, end, end + ids.length);
        end += ids.length;
        return ids;
      });
      body = body.append(joinRuns(added, texts));
      const tail = { answered: plan.answered, reasoning };
      return { format: format.name, head: head ?? { key, tokens }, body, tail, calls, settings };
    };

    const texts = [headRuns, ...runs].flat().filter((run) => typeof run === 'string');
    const encoded = texts.length === 0 ? [] : this.#provider.encoder(format).encodeAll(texts, turn.signal);
    return Array.isArray(encoded) ? build(encoded) : encoded.then(build);
  }
}

function renderItems(
  items: readonly PlannedItem[],
  before: OpenCalls,
  format: Format,
  turn: Turn,
): { runs: Run[][]; calls: OpenCalls } {
  const calls = new CallFold(before);
  const runs = items.map(({ entry: { item, sampled } }): Run[] => {
    // Rendered before the item counts: an output is named after the call that it answers.
    const pieces = sampled?.format === format.name ? [sampled.ids] : format.renderItem(item, calls.open);
    if (sampled?.format !== format.name) turn.count('items_rendered', 1);
    calls.add(item);
    return pieces;
  });
  return { runs, calls: calls.open };
}

/** The open calls behind each of a run of items: copied once, however many items change them. */
class CallFold {
  #open: OpenCalls;
  #copy: Map<string, { name: string; namespace?: string | undefined }> | undefined;

  constructor(before: OpenCalls) {
    this.#open = before;
  }

  get open(): OpenCalls {
    return this.#open;
  }

  add(item: Item): void {
    const call = callMadeBy(item);
    if (call !== undefined) this.#writable().set(call.id, { name: call.name, namespace: call.namespace });
    const answer = answerOf(item);
    if (answer !== undefined && this.#open.has(answer.id)) this.#writable().delete(answer.id);
  }

  #writable() {
    this.#copy ??= new Map(this.#open);
    this.#open = this.#copy;
    return this.#copy;
  }
}

function addSegment(
  before: ReasoningSegment | undefined,
  start: number,
  end: number,
): ReasoningSegment | undefined {
  return start === end ? before : { before, start, end };
}

/** The ids of runs, each text replaced by the next encoded one. */
function joinRuns(runs: readonly Run[], encoded: Iterator<Int32Array>): Int32Array {
  const parts = runs.map((run) => (typeof run === 'string' ? nextOf(encoded) : run));
  const [only] = parts;
  if (parts.length === 1 && only instanceof Int32Array) return only;
  const length = parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? 1 : part.length), 0);
  const ids = new Int32Array(length);
  let at = 0;
  for (const part of parts) {
    if (typeof part === 'number') ids[at] = part;
    else ids.set(part, at);
    at += typeof part === 'number' ? 1 : part.length;
  }
  return ids;
}

function nextOf(encoded: Iterator<Int32Array>): Int32Array {
  const next = encoded.next();
  if (next.done) throw new Error('The encoder returned fewer lists of ids than it got texts.');
  return next.value;
}
