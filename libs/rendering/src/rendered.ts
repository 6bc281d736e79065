import type { OpenCalls, Place } from '@turnpike/formats';
import type { ChainSettings } from './chain-settings.js';
import type { HeadKey } from './head.js';
import { TokenLog } from './token-log.js';
import type { Tail } from './tail.js';

/** A conversation as its model reads it: what rendering knows after a turn. Immutable. */
export interface Rendered {
  /** Name of the format the ids belong to. */
  readonly format: string;
  readonly head: RenderedHead;
  /** The items, without what the format wants forgotten. */
  readonly body: TokenLog;
  readonly tail: Tail;
  /** Calls that still wait for their output. */
  readonly calls: OpenCalls;
  /** What items of the chain have set for the responses behind them. */
  readonly settings: ChainSettings;
  readonly end: ChainEnd;
}

/** What is open behind the items, in the format's words. */
export interface ChainEnd {
  readonly place: Place;
  /** Ids that close it: they stand behind the body where the model is made to answer, and are not part of it. */
  readonly closing: Int32Array;
}

export const NOTHING_OPEN: ChainEnd = { place: undefined, closing: new Int32Array() };

/** What stands before the items and belongs to the request: instructions, tools, settings. */
export interface RenderedHead {
  readonly key: HeadKey;
  readonly tokens: TokenLog;
}

/** Memory that `rendered` takes beyond what its parent's artifact already holds, in bytes. */
export function renderedBytes(rendered: Rendered, parent: Rendered | undefined): number {
  const { head, body } = rendered;
  const headBytes = head.tokens.bytesBeyond(parent?.head.tokens ?? TokenLog.EMPTY);
  const endBytes = rendered.end === parent?.end ? 0 : rendered.end.closing.byteLength;
  return headBytes + body.bytesBeyond(parent?.body ?? TokenLog.EMPTY) + endBytes;
}
