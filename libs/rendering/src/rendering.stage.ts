import type { Format, TokenEncoder } from '@turnpike/formats';
import { shownItems, stageToken, type StageToken, type Turn, type TurnStage } from '@turnpike/turns';
import { foldSettings, NO_SETTINGS } from './chain-settings.js';
import { headKeyOf, headSettingsOf, sameHead } from './head.js';
import { foldItems, joinRuns, type ItemRuns } from './item-runs.js';
import { NOTHING_OPEN, type Rendered } from './rendered.js';
import { renderedCodec } from './rendered-codec.js';
import { cutSegments, EMPTY_TAIL, planTail, type ReasoningSegment } from './tail.js';
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
const NOTHING_YET: Pick<Rendered, 'body' | 'tail' | 'calls' | 'settings' | 'end'> = {
  body: TokenLog.EMPTY,
  tail: EMPTY_TAIL,
  calls: new Map(),
  settings: NO_SETTINGS,
  end: NOTHING_OPEN,
};

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
    const before = base ?? NOTHING_YET;
    const { items, calls, place } = foldItems(
      plan.items,
      { calls: before.calls, ...before.end },
      format,
      turn,
    );
    const closing = place === before.end.place ? undefined : format.closing(place);

    const build = (encoded: readonly Int32Array[]): Rendered => {
      const texts = encoded.values();
      for (const ids of encoded) turn.count('tokens_encoded', ids.length);
      const tokens = head?.tokens ?? TokenLog.EMPTY.append(joinRuns(headRuns, texts));
      let { body } = before;
      let { reasoning } = before.tail;
      if (plan.cutsTail) {
        const cut = cutSegments(body, reasoning);
        turn.count('tokens_copied', cut.copied);
        body = cut.body;
        reasoning = undefined;
      }
      let length = body.length;
      const added = items.flatMap((item) => {
        const { parts, cut } = encodedItem(item, texts);
        if (cut !== undefined) reasoning = addSegment(reasoning, length + cut.start, length + cut.end);
        for (const ids of parts) length += ids.length;
        return parts;
      });
      body = body.append(joinRuns(added, texts));
      const tail = { answered: plan.answered, reasoning };
      const end = closing === undefined ? before.end : { place, closing: joinRuns(closing, texts) };
      return { format: format.name, head: head ?? { key, tokens }, body, tail, calls, settings, end };
    };

    const texts = [...headRuns, ...items.flatMap(({ runs }) => runs), ...(closing ?? [])].filter(
      (run) => typeof run === 'string',
    );
    const encoded = texts.length === 0 ? [] : this.#provider.encoder(format).encodeAll(texts, turn.signal);
    return Array.isArray(encoded) ? build(encoded) : encoded.then(build);
  }
}

/** The ids of an item in up to three parts, and where among them stands what may be cut. */
function encodedItem({ runs, cut }: ItemRuns, texts: Iterator<Int32Array>) {
  if (cut === undefined) return { parts: [joinRuns(runs, texts)], cut: undefined };
  const [from, to] = cut;
  const before = joinRuns(runs.slice(0, from), texts);
  const reasoning = joinRuns(runs.slice(from, to), texts);
  const behind = joinRuns(runs.slice(to), texts);
  return {
    parts: [before, reasoning, behind],
    cut: { start: before.length, end: before.length + reasoning.length },
  };
}

function addSegment(
  before: ReasoningSegment | undefined,
  start: number,
  end: number,
): ReasoningSegment | undefined {
  return start === end ? before : { before, start, end };
}
