import type { Piece } from '../format.js';
import type { Content, Spoken, SpokenCall } from '../spoken/spoken.js';
import { declarationsOf, freeTextArguments } from '../tools/declarations.js';
import { qualifiedName } from '../tools/namespaces.js';
import { textOf } from './content.js';
import type { Dialect, DialogCall, Part, Turn } from './dialect.js';
import type { DialogPlace } from './place.js';
import { PieceWriter } from './piece-writer.js';

/** Order of what the assistant's turn holds. */
const ORDER: Readonly<Record<Part, number>> = { nothing: 0, reasoning: 1, text: 2, calls: 3 };

/** Writes what is said behind a place. */
export class DialogFold {
  readonly out: PieceWriter;
  #place: DialogPlace;

  constructor(
    private readonly dialect: Dialect,
    place: DialogPlace,
  ) {
    this.#place = place;
    this.out = new PieceWriter(place.held);
  }

  /** The place behind what was said. What is held back is no longer in `out`. */
  end(): DialogPlace {
    return { ...this.#place, held: this.#place.open ? this.out.hold() : '' };
  }

  say(spoken: Spoken): void {
    const { dialect, out } = this;
    switch (spoken.kind) {
      case 'user':
        this.#whole('user');
        dialect.user(spoken.content, out);
        return;
      case 'developer':
        this.#developer([textOf(spoken.content)]);
        return;
      case 'tools': {
        const tools = declarationsOf(spoken.tools);
        if (tools.length > 0) this.#developer(dialect.toolsPieces(tools));
        return;
      }
      case 'reasoning':
        if (dialect.reasoning === undefined) return;
        this.#assistant('reasoning');
        dialect.reasoning(spoken.texts.join(''), out);
        this.#wrote('reasoning');
        return;
      case 'answer': {
        const text = textOf(spoken.content);
        const part = this.#assistant('text');
        if (text === '') return;
        dialect.text(text, part, out);
        this.#wrote('text');
        return;
      }
      case 'call':
        this.#call(spoken);
        return;
      case 'output':
        this.#output(spoken.tool && qualifiedName(spoken.tool), spoken.id, spoken.content);
        return;
      case 'record':
        this.#output(spoken.author, undefined, [spoken.text]);
    }
  }

  /** Ends the open turn. */
  close(): void {
    const { turn, open, part } = this.#place;
    if (open && turn === 'assistant') this.dialect.closeAssistant(part, this.out);
    else if (open && turn === 'tools') this.dialect.closeTools(this.out);
    this.#place = { ...this.#place, open: false, sampled: false };
  }

  #developer(content: readonly Piece[]): void {
    this.#whole('user');
    this.dialect.developer(content, this.out);
  }

  #whole(turn: Turn): void {
    this.close();
    this.#place = { ...this.#place, turn, part: 'nothing', index: 0 };
  }

  /** Goes on in the assistant's turn where `next` can follow what it has, or begins one; returns what it has. */
  #assistant(next: Part): Part {
    const { turn, open, part } = this.#place;
    const follows = part === next ? next === 'calls' : ORDER[part] < ORDER[next];
    const apart = this.dialect.separates === true && (part === 'text' || part === 'calls');
    if (open && turn === 'assistant' && follows && !apart) return part;
    this.close();
    this.dialect.openAssistant(this.#place.turn, this.out);
    this.#place = { ...this.#place, turn: 'assistant', open: true, part: 'nothing', index: 0 };
    return 'nothing';
  }

  #wrote(part: Part): void {
    this.#place = { ...this.#place, part, sampled: false };
  }

  #call(spoken: SpokenCall): void {
    const part = this.#assistant('calls');
    const { index, count, references } = this.#place;
    const call = dialogCall(spoken, index, count);
    this.dialect.call(call, part, this.out);
    this.#wrote('calls');
    this.#place = {
      ...this.#place,
      index: index + 1,
      count: count + 1,
      references: withReference(references, spoken.id, this.dialect.reference?.(call, undefined)),
    };
  }

  #output(name: string | undefined, id: string | undefined, content: Content): void {
    const { turn, open } = this.#place;
    if (!open || turn !== 'tools') {
      this.close();
      this.#place = { ...this.#place, turn: 'tools', open: true, part: 'nothing', index: 0 };
    }
    const { index, references } = this.#place;
    const reference = id !== undefined && Object.hasOwn(references, id) ? references[id] : id;
    this.dialect.output({ name, reference, content, first: index === 0 }, this.out);
    this.#place = { ...this.#place, index: index + 1, references: withReference(references, id, undefined) };
  }
}

/** A call by one name, with arguments that are JSON. */
export function dialogCall({ target, content }: SpokenCall, index: number, count: number): DialogCall {
  return {
    name: qualifiedName(target),
    arguments: target.type === 'custom' ? freeTextArguments(content) : content,
    index,
    count,
  };
}

/** References with one more, or without it. */
export function withReference(
  references: DialogPlace['references'],
  id: string | undefined,
  reference: string | undefined,
): DialogPlace['references'] {
  if (id === undefined) return references;
  if (reference !== undefined) return { ...references, [id]: reference };
  if (!Object.hasOwn(references, id)) return references;
  return Object.fromEntries(Object.entries(references).filter(([known]) => known !== id));
}
