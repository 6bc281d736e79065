import { createHash } from 'node:crypto';
import { Automaton, type Pattern } from './automaton.js';
import { ITEM_KINDS, type Action, type Category, type ItemKind } from './categories.js';
import type { Detector } from './detectors/detectors.js';
import { fold } from './fold.js';
import { RulePackError, type PackRule, type RulePack } from './rule-pack.js';

/** A rule as it is applied. */
export interface Rule {
  /** `PACK/RULE`. */
  readonly id: string;
  readonly category: Category;
  readonly actions: Readonly<Record<ItemKind, Action>>;
  /** Of a rule that needs several phrases near each other: how many, and how near. */
  readonly parts: number;
  readonly within: number;
}

/** How a phrase was written. */
export type Encoding = 'plain' | 'rot13' | 'reversed';

/** What a match of an automaton means. */
export interface Meaning {
  readonly rule: number;
  /** Which of the phrases of a rule that needs several; -1 for one that needs this one only. */
  readonly part: number;
  readonly encoding: Encoding;
}

/** Changes when the same rules find something else in the same text: chains are classified anew then. */
const READING = 2;

/** Shorter phrases would be found inside of and across words. */
const MIN_PHRASE = 8;
/** Of phrases that count only together. */
const MIN_PART = 3;
/** Kinds that a model writes. */
const WRITTEN: readonly ItemKind[] = ['assistant', 'reasoning', 'tool_call'];

/** The rules of all packs, compiled. Immutable. */
export class RuleSet {
  readonly rules: readonly Rule[];
  readonly meanings: readonly Meaning[];
  /** Over the text as it is. */
  readonly exact: Automaton;
  /** Over the folded text. */
  readonly folded: Automaton;
  /** Rules by the detector that they ask for. */
  readonly detectors: ReadonlyMap<Detector, readonly number[]>;
  /** Changes with every rule, and with how they are looked for. */
  readonly version: string;

  /** @throws RulePackError for a phrase that is too short, or for more than fits in memory */
  constructor(packs: readonly RulePack[]) {
    const builder = new Builder();
    for (const pack of packs) for (const rule of pack.rules) builder.add(pack.name, rule);
    this.rules = builder.rules;
    this.meanings = builder.meanings;
    this.detectors = builder.detectors;
    try {
      this.exact = new Automaton(builder.exact);
      this.folded = new Automaton(builder.folded);
    } catch (thrown) {
      throw new RulePackError(`The rule packs cannot be used: ${(thrown as Error).message}`);
    }
    this.holds = this.rules.some(blocksOutput);
    const detecting = new Set([...this.detectors.values()].flat());
    this.holdsRuns = this.rules.some((rule, index) => detecting.has(index) && blocksOutput(rule));
    this.version = createHash('sha256')
      .update(JSON.stringify([READING, packs]))
      .digest('hex')
      .slice(0, 12);
  }

  /** Whether any rule blocks what a model writes, so that some of it is held back until it is known. */
  readonly holds: boolean;
  /** Whether one does that looks for keys or numbers, of which no character may be shown. */
  readonly holdsRuns: boolean;
}

function blocksOutput({ actions }: Pick<Rule, 'actions'>): boolean {
  return WRITTEN.some((kind) => actions[kind] === 'block');
}

class Builder {
  readonly rules: Rule[] = [];
  readonly meanings: Meaning[] = [];
  readonly exact: Pattern[] = [];
  readonly folded: Pattern[] = [];
  readonly detectors = new Map<Detector, number[]>();

  add(pack: string, source: PackRule): void {
    const index = this.rules.length;
    const { action, all = [], within, category } = source;
    const actions = Object.fromEntries(
      ITEM_KINDS.map((kind) => [kind, actionOf(action, kind)]),
    ) as Rule['actions'];
    const rule: Rule = { id: `${pack}/${source.id}`, category, actions, parts: all.length, within };
    this.rules.push(rule);
    const holds = blocksOutput(rule);
    for (const text of source.exact ?? []) {
      this.exact.push({ text, id: this.#meaning(index, -1, 'plain'), holds });
    }
    for (const phrase of source.phrases ?? []) this.#phrase(phrase, index, -1, holds, MIN_PHRASE);
    for (const [part, phrase] of all.entries()) this.#phrase(phrase, index, part, holds, MIN_PART);
    for (const detector of source.detectors ?? []) {
      this.detectors.set(detector, [...(this.detectors.get(detector) ?? []), index]);
    }
  }

  /** A phrase as it is, in ROT13, and backwards: to look for these costs nothing more than memory. */
  #phrase(phrase: string, rule: number, part: number, holds: boolean, shortest: number): void {
    const plain = fold(phrase);
    if (plain.length < shortest) {
      throw new RulePackError(
        `The phrase '${phrase}' of rule '${this.rules[rule]?.id}' has fewer than ${shortest} letters and digits: it would be found inside of other words.`,
      );
    }
    const forms: Record<Encoding, string> = {
      plain,
      rot13: fold(rot13(phrase)),
      reversed: [...plain].reverse().join(''),
    };
    const seen = new Set<string>();
    for (const [encoding, text] of Object.entries(forms) as [Encoding, string][]) {
      if (seen.has(text) || (encoding !== 'plain' && text.length < MIN_PHRASE)) continue;
      seen.add(text);
      this.folded.push({ text, id: this.#meaning(rule, part, encoding), holds });
    }
  }

  #meaning(rule: number, part: number, encoding: Encoding): number {
    this.meanings.push({ rule, part, encoding });
    return this.meanings.length - 1;
  }
}

function actionOf(action: PackRule['action'], kind: ItemKind): Action {
  return typeof action === 'string' ? action : (action[kind] ?? action.default ?? 'flag');
}

function rot13(text: string): string {
  return text.replaceAll(/[a-z]/gi, (letter) => {
    const first = letter <= 'Z' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - first + 13) % 26) + first);
  });
}
