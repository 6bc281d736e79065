import { isCallHeader, type OutputEvent, type OutputHeader } from '../format.js';
import { unwrapFreeText } from '../harmony/free-text.js';
import { CallArguments } from './call-arguments.js';

/** A message that is written, or that has ended while its last ids may be yet to come. */
interface Message {
  readonly header: OutputHeader;
  complete: boolean;
  ended: boolean;
  /** Arguments that have to be unwrapped, held until the message ends. */
  held: string | undefined;
  /** What is read of the arguments of a function. */
  readonly args: CallArguments | undefined;
}

/**
 * Writes the messages of an output as events, and gives every id to one of them: a message has the ids from the one it
 * begins at up to where the next begins, so what stands between two belongs to the first, and what stands before all to
 * the first of them.
 */
export class MessageWriter {
  private events: OutputEvent[] = [];
  /** Ids of the message there is, or before the first; the number of the first of them. */
  private ids: number[] = [];
  private first = 0;
  private message: Message | undefined;
  /** How many calls have begun. */
  calls = 0;

  /** @param opened how many of the ids the prompt has brought, which count as not sampled */
  constructor(private readonly opened: number) {}

  /** Whether any message has begun. */
  get begun(): boolean {
    return this.message !== undefined || this.first > 0;
  }

  /** Whether a message is being written. */
  get writing(): boolean {
    return this.message?.ended === false;
  }

  /** Number of the next id. */
  get next(): number {
    return this.first + this.ids.length;
  }

  /** @returns the number of the id */
  add(id: number): number {
    return this.first + this.ids.push(id) - 1;
  }

  /** The events since the last time. */
  drain(): OutputEvent[] {
    return this.events.splice(0);
  }

  /** @param from number of the id that it begins at */
  open(header: OutputHeader, from: number): void {
    this.end(true);
    this.emitClose(from);
    const isCall = isCallHeader(header);
    if (isCall) this.calls++;
    const isFreeText = header.type === 'custom_tool_call';
    const held = isFreeText ? '' : undefined;
    const args = isCall && !isFreeText ? new CallArguments() : undefined;
    this.message = { header, complete: true, ended: false, held, args };
    this.events.push({ kind: 'open', header });
  }

  write(text: string): void {
    if (text === '' || this.message === undefined) return;
    if (this.message.held !== undefined) this.message.held += text;
    else this.emit(this.message.args?.push(text) ?? text);
  }

  /** Ends the message that is being written, if there is one. */
  end(complete: boolean): void {
    const { message } = this;
    if (message === undefined || message.ended) return;
    if (message.held !== undefined) this.emit(unwrapFreeText(message.held));
    message.held = undefined;
    this.emit(message.args?.end(complete) ?? '');
    message.ended = true;
    message.complete = complete;
  }

  /** No id follows. */
  finish(): void {
    this.emitClose(this.next);
  }

  private emit(text: string): void {
    if (text === '') return;
    const last = this.events.at(-1);
    if (last?.kind === 'text') last.text += text;
    else this.events.push({ kind: 'text', text });
  }

  /** The close of the last message, whose ids end before the one with this number. */
  private emitClose(before: number): void {
    const { message } = this;
    if (message === undefined) return;
    const ids = this.ids.splice(0, before - this.first);
    const sampled = before - Math.max(this.first, Math.min(this.opened, before));
    const stays = message.complete || !isCallHeader(message.header);
    this.events.push({
      kind: 'close',
      ids: Int32Array.from(stays ? ids : []),
      sampled,
      complete: message.complete,
    });
    this.first = before;
    this.message = undefined;
  }
}
