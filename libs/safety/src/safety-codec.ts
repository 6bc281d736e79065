import type { ArtifactCodec, TurnItem } from '@turnpike/turns';
import { shownItems } from '@turnpike/turns';
import type { Category, ItemKind } from './categories.js';
import { MAX_RUN } from './runs.js';
import { NOTHING_READ, type Carry, type Scanner } from './scanner.js';
import { LEAD, type SafetyHead, type SafetyState } from './state.js';
import { itemTexts } from './texts.js';
import type { VisibleText } from './visible-text.js';

/** What is kept: numbers and names. Texts are in the items, and are taken from there again. */
interface KeptState {
  readonly policy: string;
  readonly chain: string;
  readonly units: number;
  readonly carries: Readonly<Partial<Record<ItemKind | 'chain', readonly [exact: number, folded: number]>>>;
  readonly near?: SafetyState['near'] | undefined;
  readonly flags?: readonly Category[] | undefined;
  readonly unchecked?: true | undefined;
  readonly head: readonly [digest: string, exact: number, folded: number];
  readonly headFlags?: readonly Category[] | undefined;
}

/** Characters of a chain that say where its scan stands: a line that is too long to say anything, or less. */
const READ_AGAIN = MAX_RUN + 1;

const NO_IDS = new Int32Array(0);

/**
 * How a store keeps {@link SafetyState}: without a word of what was said.
 */
export function safetyCodec(
  windowSize: number,
  empty: SafetyState,
  scanner: Scanner | undefined,
): ArtifactCodec<SafetyState> {
  return {
    version: 1,
    empty,

    encode({ policy, chain, units, carries, near, flags, unchecked, head }) {
      const kept = Object.entries(carries).map(([key, { exact, folded }]) => [key, [exact, folded]] as const);
      const state: KeptState = {
        policy,
        chain,
        units,
        carries: Object.fromEntries(kept),
        near: Object.keys(near).length === 0 ? undefined : near,
        flags: flags.length === 0 ? undefined : flags,
        unchecked: unchecked ? true : undefined,
        head: [head.digest, head.carry.exact, head.carry.folded],
        headFlags: head.flags.length === 0 ? undefined : head.flags,
      };
      return { state, ids: NO_IDS };
    },

    decode(records, history) {
      const state = records.at(-1)?.state as KeptState;
      const texts = shownTexts(history());
      const ends = endsOf(texts, Object.keys(state.carries));
      const carries = Object.entries(state.carries).map(([key, [exact, folded]]) => {
        const place = scanner?.placeBehind(ends.get(key) ?? '') ?? NOTHING_READ;
        return [key, { ...place, exact, folded } satisfies Carry] as const;
      });
      const [digest, exact, folded] = state.head;
      const head: SafetyHead = {
        digest,
        carry: { ...NOTHING_READ, exact, folded },
        flags: state.headFlags ?? [],
      };
      return {
        policy: state.policy,
        chain: state.chain,
        units: state.units,
        carries: Object.fromEntries(carries),
        near: state.near ?? {},
        lead: leadOf(texts.flat()),
        window: windowOf(texts, windowSize),
        flags: state.flags ?? [],
        unchecked: state.unchecked === true,
        head,
      };
    },
  };
}

/** By item, what later texts may go on from. */
function shownTexts(history: readonly TurnItem[]): VisibleText[][] {
  return shownItems(history)
    .entries.map(({ item }) => itemTexts(item).filter(({ apart }) => !apart))
    .filter((texts) => texts.length > 0);
}

function leadOf(texts: readonly VisibleText[]): string {
  let lead = '';
  for (const { text } of texts) {
    if (lead.length >= LEAD) break;
    lead += text.slice(0, LEAD);
  }
  return lead.slice(0, LEAD);
}

/** The ends of the chain and of the texts of each kind: read from the last text on, as far as they reach. */
function endsOf(items: readonly (readonly VisibleText[])[], keys: readonly string[]): Map<string, string> {
  const ends = new Map<string, string>(keys.map((key) => [key, '']));
  for (const texts of items.toReversed()) {
    for (const { kind, text } of texts.toReversed()) {
      for (const key of ['chain', kind]) {
        const end = ends.get(key);
        if (end !== undefined && end.length < READ_AGAIN) ends.set(key, text.slice(-READ_AGAIN) + end);
      }
    }
    if ([...ends.values()].every((end) => end.length >= READ_AGAIN)) break;
  }
  return ends;
}

function windowOf(items: readonly (readonly VisibleText[])[], size: number): string {
  if (size === 0) return '';
  return items.reduce(
    (window, texts) => `${window}${texts.map(({ text }) => text.slice(-size)).join('')}\n`.slice(-size),
    '',
  );
}
