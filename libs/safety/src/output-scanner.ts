import { isCallHeader, type OutputEvent, type OutputHeader } from '@turnpike/formats';
import type { Automaton } from './automaton.js';
import type { Category, ItemKind } from './categories.js';
import { Unescaping } from './escapes.js';
import { isHighSurrogate } from './fold.js';
import { NearPhrases } from './near-phrases.js';
import { OpenEnd } from './open-end.js';
import { OutputReading } from './output-reading.js';
import { NOTHING_READ, Scanner, type Hit, type Place } from './scanner.js';
import { MAX_RUN, MIN_RUN } from './runs.js';
import type { RuleSet } from './rule-set.js';
import type { Finding } from './verdict.js';

/** Characters that are held back at most: a model that fills a phrase with blanks is still found out, but not hidden whole. */
export const MOST_HELD = 1_024;

/**
 * Looks through what a model writes, item by item, and lets it go as far as nothing in it can become a match any more. Any
 * chunking gives the same verdict. Used for one output.
 */
export class OutputScanner {
  readonly #scanner: Scanner;
  readonly #rules: RuleSet;
  readonly #near = new NearPhrases({});
  readonly #findings: Finding[] = [];
  /** The text as it is, and as what it says where it is written as JSON. */
  readonly #plain: OutputReading;
  readonly #said: OutputReading;
  readonly #unescaping: Unescaping;
  /** From how many characters on a run that has not ended is held. */
  readonly #heldRun: number;
  /** Characters read, released, and read when the item began. */
  #read = 0;
  #released = 0;
  #start = 0;
  #kind: ItemKind = 'assistant';
  /** What is not released yet. */
  #open: Extract<OutputEvent, { kind: 'open' }> | undefined;
  #text = '';
  /** What was read has been looked at for more than words up to here; what was not, as it may go on. */
  #place: Place = NOTHING_READ;
  #ahead = '';
  readonly #openEnd = new OpenEnd();
  #blocked = false;
  #most = 0;

  constructor(rules: RuleSet) {
    this.#rules = rules;
    this.#scanner = new Scanner(rules);
    const reading = () => new OutputReading(rules, MOST_HELD, (...match) => this.#matched(...match));
    this.#plain = reading();
    const said = reading();
    this.#said = said;
    this.#unescaping = new Unescaping((unit, place) => said.take(unit, place));
    this.#heldRun = rules.holdsRuns ? 1 : MIN_RUN;
  }

  /** Version of the rules. */
  get version(): string {
    return this.#rules.version;
  }

  /** Whether something was found that may not be shown. */
  get blocked(): boolean {
    return this.#blocked;
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  get categories(): readonly Category[] {
    return [...new Set(this.#findings.map(({ category }) => category))].sort();
  }

  /** Characters that were read. */
  get characters(): number {
    return this.#read;
  }

  /** The most characters that were held back at once. */
  get mostHeld(): number {
    return this.#most;
  }

  /** The events that may be shown. Nothing, from the moment that something may not. */
  take(events: readonly OutputEvent[]): OutputEvent[] {
    const shown: OutputEvent[] = [];
    for (const event of events) {
      if (event.kind === 'open') this.#begin(event);
      else if (event.kind === 'text') this.#feed(event.text, shown);
      else this.#end(event, shown);
      if (this.#blocked) return [];
    }
    return shown;
  }

  /** What was not released of an item is dropped with it. */
  discardOpen(): void {
    this.#open = undefined;
    this.#text = '';
    this.#released = this.#read;
  }

  /** Looks through a text that nothing is shown of before its end. */
  whole(text: string): void {
    this.take([{ kind: 'text', text }]);
    if (!this.#blocked) this.#look(this.#ahead.length);
  }

  #begin(event: Extract<OutputEvent, { kind: 'open' }>): void {
    const { header } = event;
    this.#kind = kindOf(header);
    // The name of a tool is the model's own word.
    if (isCallHeader(header)) this.#scan(`${header.namespace ?? ''}${header.name}`);
    this.#open = event;
    this.#start = this.#read;
    this.#released = this.#read;
  }

  #feed(text: string, shown: OutputEvent[]): void {
    this.#text += text;
    this.#scan(text);
    if (this.#blocked || !this.#look(this.#ahead.length - this.#openEnd.length)) return;
    // What goes on for longer is data.
    while (this.#ahead.length > MAX_RUN) if (!this.#look(MAX_RUN + 1)) return;
    this.#release(this.#holdFrom(), shown);
    this.#most = Math.max(this.#most, this.#text.length);
  }

  #end(event: OutputEvent, shown: OutputEvent[]): void {
    if (!this.#look(this.#ahead.length)) return;
    this.#release(this.#read, shown);
    if (this.#open !== undefined) shown.push(this.#open);
    this.#open = undefined;
    shown.push(event);
  }

  /** Runs the automata over more of the text. */
  #scan(text: string): void {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      this.#plain.take(unit, this.#read);
      this.#unescaping.feed(unit, this.#read);
      this.#read += 1;
    }
    this.#ahead += text;
    this.#openEnd.add(text);
  }

  #matched(automaton: Automaton, state: number, at: number): void {
    for (const id of automaton.matchesAt(state)) {
      const meaning = this.#rules.meanings[id];
      if (meaning === undefined) continue;
      const { rule, part, encoding: how } = meaning;
      this.#found({ rule, part, how, at });
    }
  }

  /**
   * Looks for what is more than words, in so many characters of what is ahead.
   * @returns whether nothing was found that may not be shown
   */
  #look(count: number): boolean {
    if (count > 0) {
      const { place, hits } = this.#scanner.look(this.#ahead.slice(0, count), this.#place);
      for (const hit of hits) this.#found(hit);
      this.#place = place;
      this.#ahead = this.#ahead.slice(count);
    }
    return !this.#blocked;
  }

  #found(hit: Hit): void {
    const rule = this.#rules.rules[hit.rule];
    const action = rule?.actions[this.#kind];
    if (rule === undefined || action === undefined || action === 'off') return;
    if (hit.part !== -1 && !this.#near.complete(hit, rule, hit.at)) return;
    if (action === 'block') this.#blocked = true;
    const isKnown = this.#findings.some(({ by, action: known }) => by === rule.id && known === action);
    if (!isKnown)
      this.#findings.push({
        by: rule.id,
        category: rule.category,
        action,
        kind: this.#kind,
        path: 'output',
        how: hit.how,
      });
  }

  /** The first character that may be part of a match yet to come. */
  #holdFrom(): number {
    const end = this.#read;
    if (!this.#rules.holds) return end;
    const run = this.#openEnd.length;
    const isHeld = run >= this.#heldRun && run < MAX_RUN;
    return Math.min(
      this.#plain.holdFrom(end),
      this.#said.holdFrom(end),
      this.#unescaping.holdFrom(end),
      isHeld ? end - run : end,
    );
  }

  #release(end: number, shown: OutputEvent[]): void {
    const least = Math.max(this.#start, this.#released, this.#read - MOST_HELD);
    const to = Math.max(end, least);
    let count = to - this.#released;
    if (isHighSurrogate(this.#text.charCodeAt(count - 1)) && to < this.#read) count -= 1;
    if (count <= 0) return;
    if (this.#open !== undefined) shown.push(this.#open);
    this.#open = undefined;
    shown.push({ kind: 'text', text: this.#text.slice(0, count) });
    this.#text = this.#text.slice(count);
    this.#released += count;
  }
}

function kindOf(header: OutputHeader): ItemKind {
  if (header.type === 'message') return 'assistant';
  return header.type === 'reasoning' ? 'reasoning' : 'tool_call';
}
