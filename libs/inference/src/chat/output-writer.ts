import { CallArguments, type CallTarget, type OutputEvent, type OutputHeader } from '@turnpike/formats';
import type { MessagePhase } from '@turnpike/protocol';

/** Tells how many tokens a text has, about. */
export type TokenEstimate = (text: string) => number;

/** Writes what a server says as the items of an output: one after the other, each opened and closed. */
export class OutputWriter {
  readonly #estimate: TokenEstimate;
  #events: OutputEvent[] = [];
  #open: OutputHeader | undefined;
  /** What is read of the arguments of the open call; those of a tool of free text are none. */
  #args: CallArguments | undefined;
  /** Tokens of the open item, and those since the last {@link take}. */
  #sampled = 0;
  #fresh = 0;

  constructor(estimate: TokenEstimate) {
    this.#estimate = estimate;
  }

  /** Type of the item that is open. */
  get open(): OutputHeader['type'] | undefined {
    return this.#open?.type;
  }

  /** Text of the item with this header, which is opened unless one of its kind is open. */
  text(header: OutputHeader, text: string): void {
    if (text === '') return;
    if (this.#open?.type !== header.type) this.begin(header);
    this.append(text);
  }

  /** A new item, behind the one that is open. */
  begin(header: OutputHeader): void {
    this.close();
    this.#open = header;
    const hasArguments = header.type === 'function_call' || header.type === 'tool_search_call';
    this.#args = hasArguments ? new CallArguments() : undefined;
    this.#events.push({ kind: 'open', header });
  }

  /** Text of the item that is open. */
  append(text: string): void {
    if (text === '') return;
    const tokens = this.#estimate(text);
    this.#sampled += tokens;
    this.#fresh += tokens;
    this.#emit(this.#args?.push(text) ?? text);
  }

  /** @param ids what stands for the item in the next prompt, where that is more than what it says */
  close(complete = true, ids?: Int32Array): void {
    if (this.#open === undefined) return;
    this.#emit(this.#args?.end(complete) ?? '');
    this.#open = undefined;
    this.#events.push({ kind: 'close', ids, sampled: this.#sampled, complete });
    this.#sampled = 0;
  }

  #emit(text: string): void {
    if (text === '') return;
    const last = this.#events.at(-1);
    if (last?.kind === 'text')
      this.#events[this.#events.length - 1] = { kind: 'text', text: last.text + text };
    else this.#events.push({ kind: 'text', text });
  }

  /** What has been written since the last call. */
  take(): { events: OutputEvent[]; sampled: number } {
    const taken = { events: this.#events, sampled: this.#fresh };
    this.#events = [];
    this.#fresh = 0;
    return taken;
  }
}

export function messageHeader(phase: MessagePhase = 'final_answer'): OutputHeader {
  return { type: 'message', phase };
}

/**
 * The header of a call; of a tool that was never offered it is a function of that name. Servers leave marks of a model's format in
 * names: `functions.NAME`, `functions.NAME:0`, `NAME<|channel|>commentary`.
 */
export function callHeader(name: string, targets: ReadonlyMap<string, CallTarget>): OutputHeader {
  const plain = name.trim().replace(/<\|.*/s, '');
  const bare = plain.replace(/^functions\./, '').replace(/:\d+$/, '');
  const target = targets.get(name) ?? targets.get(plain) ?? targets.get(bare);
  if (target === undefined) return { type: 'function_call', name: plain === '' ? name : plain };
  if (target.type === 'tool_search') return { type: 'tool_search_call', name: target.name };
  const { namespace } = target;
  const type = target.type === 'custom' ? 'custom_tool_call' : 'function_call';
  return { type, name: target.name, ...(namespace === undefined ? {} : { namespace }) };
}

/** The free text in what a model wrote as the arguments of a function that stands for a tool of free text. */
export function freeText(written: string): string {
  try {
    const value: unknown = JSON.parse(written);
    if (typeof value === 'string') return value;
    const { input } = (value ?? {}) as { input?: unknown };
    if (typeof input === 'string') return input;
  } catch {
    // Text as it is.
  }
  return written;
}
