import { createHash } from 'node:crypto';
import type { TurnItem } from '@turnpike/turns';
import type { ItemKind } from './categories.js';
import { NearPhrases } from './near-phrases.js';
import { copied, NOTHING_READ, type Carry, type Hit, type Scanner } from './scanner.js';
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
  add({ item, sampled, expansion, brought }: TurnItem, path: string): void {
    const shown = expansion?.items ?? [item];
    for (const each of shown) {
      const texts = itemTexts(each);
      // What a model wrote here has happened, and is no reason to refuse what follows it.
      this.#item(texts, path, sampled === undefined || brought === true);
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
      this.#judge(hits, kind, path, near, 0, found);
      this.#texts.push({ kind, text, path });
    }
    for (const finding of found) this.#findings.push(finding);
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
    this.#judge(fresh, 'instructions', path, this.#near, 0, this.#findings);
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
      const { hits, before } = apart ? this.#apart(text) : this.#text(text, kind);
      this.#judge(hits, kind, at, this.#near, before, found);
      if (refusable && !(apart && PLAIN_ID.test(text))) this.#texts.push({ kind, text, path: at });
    }
    const said = texts.filter(({ apart }) => !apart);
    if (this.#windowSize > 0 && said.length > 0) {
      const ends = said.map(({ text }) => text.slice(-this.#windowSize)).join('');
      this.#window = (this.#window + ends + SEPARATOR).slice(-this.#windowSize);
    }
    // One by one: there may be more than a call takes arguments.
    if (refusable) for (const finding of found) this.#findings.push(finding);
    const flags = withFlags(
      this.#state.flags,
      found.map(({ category }) => category),
    );
    this.#state = { ...this.#state, chain: digest.digest('base64url'), flags };
  }

  #text(text: string, kind: ItemKind): { hits: readonly Hit[]; before: number } {
    const behind = [this.#carries.chain ?? NOTHING_READ, this.#carries[kind] ?? NOTHING_READ];
    const { carries, hits, units } = this.#scanner.scan(text, behind);
    const [chain = NOTHING_READ, own = NOTHING_READ] = carries;
    this.#carries.chain = chain;
    this.#carries[kind] = own;
    this.#characters += text.length;
    const { units: before, lead } = this.#state;
    this.#state = {
      ...this.#state,
      units: before + units,
      lead: lead.length >= LEAD ? lead : copied((lead + text.slice(0, LEAD)).slice(0, LEAD)),
    };
    return { hits, before };
  }

  /** What is by itself: the texts around it go on from each other. */
  #apart(text: string): { hits: readonly Hit[]; before: number } {
    const { hits } = this.#scanner.scan(text, [NOTHING_READ]);
    this.#characters += text.length;
    return { hits, before: this.#state.units };
  }

  /** Adds what hits in one text mean: each rule once. */
  #judge(
    hits: readonly Hit[],
    kind: ItemKind,
    path: string,
    near: NearPhrases,
    before: number,
    found: Finding[],
  ): void {
    const broken = new Set<number>();
    for (const hit of hits) {
      const rule = this.#scanner.rules.rules[hit.rule];
      const action = rule?.actions[kind];
      if (rule === undefined || action === undefined || action === 'off') continue;
      if (hit.part !== -1 && !near.complete(hit, rule, before + hit.at)) continue;
      if (broken.has(hit.rule)) continue;
      broken.add(hit.rule);
      found.push({ by: rule.id, category: rule.category, action, kind, path, how: hit.how });
    }
  }
}
