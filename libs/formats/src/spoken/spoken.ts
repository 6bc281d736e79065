import type { Tool } from '@turnpike/protocol';
import type { CallTarget } from '../format.js';

/** Stands for an image between texts. */
export const IMAGE = Symbol('image');

/** Texts and images, in order. */
export type Content = readonly (string | typeof IMAGE)[];

/** A tool by its name, and the namespace it was declared in. */
export type ToolName = Omit<CallTarget, 'type'>;

/** A call of a tool that the client runs. */
export interface SpokenCall {
  readonly kind: 'call';
  readonly target: CallTarget;
  /** Joins it with its output; undefined when nothing does. */
  readonly id: string | undefined;
  /** JSON text, or the free text of a custom tool. */
  readonly content: string;
}

/** What such a call gave. */
export interface SpokenOutput {
  readonly kind: 'output';
  /** Undefined when the call is unknown. */
  readonly tool: ToolName | undefined;
  readonly id: string | undefined;
  readonly content: Content;
}

/**
 * An item in the words that every family has: what is said and by whom. What a server ran, or asked for, is a record in the
 * words of the tool: a model cannot do it, and must not read it as its own words.
 */
export type Spoken =
  | { readonly kind: 'user'; readonly content: Content }
  | { readonly kind: 'developer'; readonly content: Content }
  | { readonly kind: 'reasoning'; readonly texts: readonly string[] }
  | { readonly kind: 'answer'; readonly content: Content; readonly commentary: boolean }
  | SpokenCall
  | SpokenOutput
  | { readonly kind: 'record'; readonly author: string; readonly text: string }
  | { readonly kind: 'tools'; readonly tools: readonly Tool[] };
