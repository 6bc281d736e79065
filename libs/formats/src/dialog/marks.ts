import type { Piece } from '../format.js';
import type { Tokenizer } from '../tokenizer/types.js';

/** A vocabulary lacks a control token that a format cannot do without. */
export class MissingControlToken extends Error {
  constructor(
    readonly family: string,
    readonly token: string,
    tokenizer: string,
  ) {
    super(
      `The format "${family}" needs the control token ${token}, which the tokenizer ${tokenizer} does not have.`,
    );
  }
}

/** The marks of a family in one vocabulary. */
export class Marks {
  constructor(
    private readonly family: string,
    readonly tokenizer: Tokenizer,
  ) {}

  /**
   * The id of a control token.
   * @throws MissingControlToken
   */
  control(token: string): number {
    const id = this.tokenizer.controlId(token);
    if (id === undefined) throw new MissingControlToken(this.family, token, this.tokenizer.name);
    return id;
  }

  /** The id of a mark, or its text in vocabularies that have no token for it. */
  mark(text: string): Piece {
    return this.tokenizer.controlId(text) ?? text;
  }

  /** Ids of those of the tokens that the vocabulary has. */
  known(...tokens: readonly string[]): number[] {
    return tokens.flatMap((token) => this.tokenizer.controlId(token) ?? []);
  }

  /** The pieces of text with marks, written as a template would. Only for text of the format itself. */
  pieces(text: string, ...marks: readonly string[]): Piece[] {
    const ids = new Map(marks.map((mark) => [mark, this.mark(mark)]));
    const pieces: Piece[] = [];
    let rest = text;
    while (rest !== '') {
      const next = marks
        .map((mark) => ({ mark, at: rest.indexOf(mark) }))
        .filter(({ at }) => at >= 0)
        .sort((a, b) => a.at - b.at || b.mark.length - a.mark.length)[0];
      if (next === undefined) break;
      pieces.push(rest.slice(0, next.at), ids.get(next.mark) ?? next.mark);
      rest = rest.slice(next.at + next.mark.length);
    }
    return [...pieces, rest].filter((piece) => piece !== '');
  }
}
