import type { HeadSettings, Piece } from '../format.js';
import type { Content } from '../spoken/spoken.js';
import type { FunctionDeclaration } from '../tools/declarations.js';
import type { PieceWriter } from './piece-writer.js';

/** Who had the last turn. */
export type Turn = 'head' | 'user' | 'assistant' | 'tools';

/** What stands last in a turn of the assistant. */
export type Part = 'nothing' | 'reasoning' | 'text' | 'calls';

/** A call as families know one that have no namespaces and no free-text tools. */
export interface DialogCall {
  readonly name: string;
  /** JSON text as the client has it. */
  readonly arguments: string;
  /** Its number among the calls of its turn, and of the conversation. */
  readonly index: number;
  readonly count: number;
}

export interface DialogOutput {
  /** Name of the tool, where the call is known or the tool speaks by itself. */
  readonly name: string | undefined;
  /** What the dialect named the call by; the client's id of it when it named none. */
  readonly reference: string | undefined;
  readonly content: Content;
  /** Whether it is the first of its turn. */
  readonly first: boolean;
}

/** What the model is told of a request beside the conversation. */
export interface DialogHead {
  /** Instructions, and the format that the answer has to have. */
  readonly system: string | undefined;
  readonly tools: readonly FunctionDeclaration[];
  readonly date: HeadSettings['date'];
  /** Whether the model is to reason before it answers. */
  readonly reasons: boolean;
}

/**
 * How a family writes a conversation of turns in which neighbours share one: what the assistant reasons, says and calls, in
 * this order, and outputs of tools that follow each other.
 */
export interface Dialect {
  /** Control ids that end a turn of the assistant: sampling stops there. */
  readonly ends: readonly number[];
  /** Control ids at which sampling stops as well. */
  readonly otherStops?: readonly number[];
  /** Text that history has between an end that was sampled and the next turn. */
  readonly afterEnd?: string;
  /** The id that what is sampled begins with where the assistant's turn begins; undefined for families without a header. */
  readonly header?: number;
  /** Whether the assistant goes on behind outputs of tools without a header. */
  readonly goesOnBehindTools?: boolean;
  /** Whether text and each call stand in turns of their own. */
  readonly separates?: boolean;
  readonly dropsFinishedReasoning: boolean;
  /** Whether the model reasons when the request says nothing of it. */
  readonly reasons: boolean;

  head(head: DialogHead, out: PieceWriter): void;
  /** A whole turn. */
  user(content: Content, out: PieceWriter): void;
  /** A whole turn: a developer or system message behind the head. */
  developer(content: readonly Piece[], out: PieceWriter): void;
  /** What tells of tools which join behind the head, for a developer message. */
  toolsPieces(tools: readonly FunctionDeclaration[]): readonly Piece[];

  openAssistant(before: Turn, out: PieceWriter): void;
  /** Undefined where history never shows reasoning. */
  reasoning?(text: string, out: PieceWriter): void;
  /** Text that stands between a sampled end of reasoning and what follows. */
  readonly afterReasoning?: { readonly end: number; readonly text: string };
  text(text: string, part: Part, out: PieceWriter): void;
  call(call: DialogCall, part: Part, out: PieceWriter): void;
  closeAssistant(part: Part, out: PieceWriter): void;
  output(output: DialogOutput, out: PieceWriter): void;
  closeTools(out: PieceWriter): void;

  /** What makes the model answer behind a closed turn. */
  generation(before: Turn, reasons: boolean, out: PieceWriter): void;
  /** Behind that, what makes it call: one tool, or any of several. Text that answers need no opening. */
  callOpening(name: string | undefined, out: PieceWriter): void;
  reasoningSpan(run: ArrayLike<Piece>): readonly [from: number, to: number];
  /** How outputs refer to a call that was rendered, or sampled; where they don't, undefined. */
  reference?(call: DialogCall, sampled: string | undefined): string;
}
