import { createHash } from 'node:crypto';
import type { TurnItem } from '@turnpike/turns';
import type { ItemKind } from './categories.js';
import { NearPhrases } from './near-phrases.js';
import { NOTHING_READ, type Carry, type Hit, type Scanner } from './scanner.js';
import { LEAD, withFlags, type SafetyHead, type SafetyState } from './state.js';
import { itemTexts } from './texts.js';
import type { Finding } from './verdict.js';
import type { VisibleText } from './visible-text.js';

/** Between items in what classifiers see. */
const SEPARATOR = '\n';
/** An id as servers and clients make them: of no use to a classifier. */
const PLAIN_ID = /^[\w-]{1,64}$/;

/** Folds texts into what is known of a chain, and collects what was found in them. Used for one fold. */
export class ChainFold {
  readonly #scanner: Scanner;
  readonly #windowSize: number;
  readonly #findings: Finding[] = [];
  readonly #texts: VisibleText[] = [];
  #state: SafetyState;
  #made: SafetyState | undefined;
  #carries: Partial<Record<ItemKind | 'chain', Carry>>;
  readonly #near: NearPhrases;
  #window: string;
  #characters = 0;

  constructor(scanner: Scanner, from: SafetyState, windowSize: number) {
    this.#scanner = scanner;
    this.#state = from;
    this.#carries = { ...from.carries };
    this.#near = new NearPhrases(from.near);
    this.#window = from.window;
    this.#windowSize = windowSize;
  }

  /** What was found so far in texts that can be refused. */
  get findings(): readonly Finding[] {
    return this.#findings;
  }

  /** Those texts. */
  get texts(): readonly VisibleText[] {
    return this.#texts;
  }

  /** The beginning of the chain. */
  get lead(): string {
    return this.#state.lead;
  }

  /** Characters that were looked at. */
  get characters(): number {
    return this.#characters;
  }

  /**
   * One item, or what it stands for.
   * @param path of the item in the request
   */
  add({ item, sampled, expansion }: TurnItem, path: string): void {
    const shown = expansion?.items ?? [item];
    for (const each of shown) {
      const texts = itemTexts(each);
      // What a model wrote here has happened, and is no reason to refuse what follows it.
      this.#item(texts, path, sampled === undefined);
    }
  }

  /** What stands before the chain, where that has changed. */
  head(texts: readonly VisibleText[], keys: Pick<SafetyHead, 'digest' | 'key'>): void {
    let carry = NOTHING_READ;
    const near = new NearPhrases({});
    const found: Finding[] = [];
    for (const { text, kind, path } of texts) {
      const { carries, hits } = this.#scanner.scan(text, [carry]);
      carry = carries[0] ?? NOTHING_READ;
      this.#characters += text.length;
      found.push(...this.#judge(hits, kind, path, near));
    }
    this.#texts.push(...texts);
    this.#findings.push(...found);
    const flags = withFlags(
      [],
      found.map(({ category }) => category),
    );
    this.#state = { ...this.#state, head: { ...keys, carry, flags } };
  }

  /** What a head and the beginning of the chain behind it say together; without effect on what is known. */
  seam(path: string): void {
    const { lead, head } = this.#state;
    if (lead === '' || head.carry === NOTHING_READ) return;
    // What is found in the beginning alone has been found before.
    const alone = new Set(this.#scanner.scan(lead, [NOTHING_READ]).hits.map(({ rule }) => rule));
    const { hits } = this.#scanner.scan(lead, [head.carry]);
    const fresh = hits.filter(({ rule, part }) => part === -1 && !alone.has(rule));
    this.#findings.push(...this.#judge(fresh, 'instructions', path, this.#near));
  }

  /** What is known behind everything that was added. */
  get state(): SafetyState {
    this.#made ??= {
      ...this.#state,
      carries: this.#carries,
      near: this.#near.places,
      window: copied(this.#window),
    };
    return this.#made;
  }

  #item(texts: readonly VisibleText[], path: string, refusable: boolean): void {
    if (texts.length === 0) return;
    const digest = createHash('sha256').update(this.#state.chain);
    const found: Finding[] = [];
    for (const { kind, text, path: field, apart } of texts) {
      digest.update(`${kind} ${text.length} `).update(text);
      const at = `${path}${field}`;
      found.push(...(apart ? this.#apart(text, kind, at) : this.#text(text, kind, at)));
      if (refusable && !(apart && PLAIN_ID.test(text))) this.#texts.push({ kind, text, path: at });
    }
    const said = texts.filter(({ apart }) => !apart);
    if (this.#windowSize > 0 && said.length > 0) {
      const ends = said.map(({ text }) => text.slice(-this.#windowSize)).join('');
      this.#window = (this.#window + ends + SEPARATOR).slice(-this.#windowSize);
    }
    if (refusable) this.#findings.push(...found);
    const flags = withFlags(
      this.#state.flags,
      found.map(({ category }) => category),
    );
    this.#state = { ...this.#state, chain: digest.digest('base64url'), flags };
  }

  #text(text: string, kind: ItemKind, path: string): Finding[] {
    const behind = [this.#carries.chain ?? NOTHING_READ, this.#carries[kind] ?? NOTHING_READ];
    const { carries, hits, units } = this.#scanner.scan(text, behind);
    const [chain = NOTHING_READ, own = NOTHING_READ] = carries;
    this.#carries.chain = chain;
    this.#carries[kind] = own;
    this.#characters += text.length;
    const { units: before, lead } = this.#state;
    const findings = this.#judge(hits, kind, path, this.#near, before);
    this.#state = {
      ...this.#state,
      units: before + units,
      lead: lead.length >= LEAD ? lead : copied((lead + text.slice(0, LEAD)).slice(0, LEAD)),
    };
    return findings;
  }

  /** What is by itself: the texts around it go on from each other. */
  #apart(text: string, kind: ItemKind, path: string): Finding[] {
    const { hits } = this.#scanner.scan(text, [NOTHING_READ]);
    this.#characters += text.length;
    return this.#judge(hits, kind, path, this.#near, this.#state.units);
  }

  #judge(hits: readonly Hit[], kind: ItemKind, path: string, near: NearPhrases, before = 0): Finding[] {
    return hits.flatMap((hit): Finding[] => {
      const rule = this.#scanner.rules.rules[hit.rule];
      const action = rule?.actions[kind];
      if (rule === undefined || action === undefined || action === 'off') return [];
      if (hit.part !== -1 && !near.complete(hit, rule, before + hit.at)) return [];
      return [{ by: rule.id, category: rule.category, action, kind, path, how: hit.how }];
    });
  }
}

/** A string of its own: a part of another one keeps all of that in memory. */
function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
