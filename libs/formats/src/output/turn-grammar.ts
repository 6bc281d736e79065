import { type CallContext, type CallReader } from './call-reader.js';

/** How calls are written that a marker opens. */
export interface CallSyntax {
  readonly open: string;
  /** Ends them wherever it is sampled as a control id. */
  readonly close?: string | undefined;
  /** All markers of the reader, `close` included. */
  readonly markers: readonly string[];
  /** @param from number of the id at which the opening marker begins */
  reader(context: CallContext, from: number): CallReader;
}

/** How the turn of a model is written: the markers of a family. A marker is a control token or, in vocabularies that have none for it, text. */
export interface TurnGrammar {
  /** What a turn begins with, and what ends that header; nothing of it is text. */
  readonly header?: { readonly open: readonly string[]; readonly end: string } | undefined;
  /** `labelled`: the first line behind `open` says what it is, and is none of the text. */
  readonly reasoning?:
    { readonly open: string; readonly close: string; readonly labelled?: true } | undefined;
  readonly calls: readonly CallSyntax[];
  /** Markers around calls or text that say nothing by themselves. */
  readonly sections?: readonly string[] | undefined;
  /** Control tokens that end the turn. */
  readonly ends: readonly string[];
  /** Whether a call may stand where text could, as nothing but an object. */
  readonly bareCalls?: boolean | undefined;
}
