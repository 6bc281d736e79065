import { type Tool } from '@turnpike/protocol';
import {
  isCallHeader,
  type FinishReason,
  type OutputEvent,
  type OutputHeader,
  type OutputParser,
} from '../format.js';
import { CallArguments } from '../output/call-arguments.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { type Detokenizer, type Tokenizer } from '../tokenizer/types.js';
import { unwrapFreeText } from './free-text.js';
import { MESSAGE_ENDS, parseHeader, type MessageHeader } from './header.js';
import { parseUnopened } from './unopened.js';
import { recipientResolver } from './tools.js';

type CloseEvent = Extract<OutputEvent, { kind: 'close' }>;

/** What begins a header. */
const HEADER_STARTS: ReadonlySet<number> = new Set([HARMONY.start, HARMONY.channel]);
/** Marks of a header, which say nothing inside a text. */
const HEADER_MARKS: ReadonlySet<number> = new Set([HARMONY.message, HARMONY.constrain]);

/** Recipients that name nobody in particular. */
const EVERYBODY: ReadonlySet<string> = new Set(['all', 'assistant', 'user']);

/**
 * Reads what a model samples after the generation prompt. Output that is not well-formed is read by these rules,
 * none of which throws:
 * - a header needs no `<|start|>`: without one it is the assistant's; a second one begins the header anew;
 * - a message that ends before its `<|message|>` has the leftover of its header as text, or as the arguments of a call;
 * - an end where no message is open belongs to the message that follows, or to the last one at the end of output;
 * - inside a text the beginning of a header ends the message before it, and other marks of a header are dropped; every
 *   other id but an end is text.
 */
export class HarmonyParser implements OutputParser {
  private readonly resolve: ReturnType<typeof recipientResolver>;
  private readonly detokenizer: Detokenizer;
  /** Everything sampled since the last message ended. */
  private sampled: number[] = [];
  /** Header ids so far; stays empty between messages. */
  private header: number[] = [];
  /** Whether the header follows an assistant start that was not sampled. */
  private afterAssistant = true;
  /** The message whose content is being read. */
  private open: OutputHeader | undefined;
  /** Content that may have to be unwrapped, held until its message ends; undefined when text goes out as it comes. */
  private held: string | undefined;
  /** What is read of the arguments of the open call; undefined for everything else. */
  private args: CallArguments | undefined;
  /**
   * The close of the last message. It waits until another message opens or the output ends, because ids that turn
   * out to belong to no message are counted in it.
   */
  private closing: CloseEvent | undefined;
  /** What the prompt itself has opened, until the first call of a method gives it out. */
  private readonly begun: OutputEvent[] = [];

  /**
   * @param opened what the first message begins with
   * @param assumed how many of these ids say no more than that the assistant begins
   */
  constructor(
    tools: readonly Tool[],
    private readonly tokenizer: Tokenizer,
    private opened: readonly number[],
    assumed: number,
  ) {
    this.resolve = recipientResolver(tools);
    this.detokenizer = tokenizer.detokenizer();
    for (const id of opened.slice(assumed)) this.readHeader(id, this.begun);
  }

  push(ids: ArrayLike<number>): OutputEvent[] {
    const events = this.begun.splice(0);
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i] as number;
      this.sampled.push(id);
      if (this.open !== undefined) this.readContent(this.open, id, events);
      else this.readHeader(id, events);
    }
    return events;
  }

  finish(reason: FinishReason): OutputEvent[] {
    const events = this.begun.splice(0);
    // What was cut may be half a header; what stopped by itself is what the model had to say.
    const hasSpoken = reason === 'stop' && this.sampled.length > 0;
    if (this.open === undefined && hasSpoken) this.endUnopened(undefined, events);
    else if (this.open !== undefined) this.endMessage(this.open, reason === 'stop', undefined, events);
    if (this.closing !== undefined) {
      events.push({ ...this.closing, sampled: this.closing.sampled + this.sampled.length });
      this.closing = undefined;
    }
    return events;
  }

  private readContent(open: OutputHeader, id: number, events: OutputEvent[]): void {
    if (MESSAGE_ENDS.has(id)) {
      this.endMessage(open, true, id, events);
    } else if (HEADER_STARTS.has(id)) {
      this.sampled.pop();
      this.endMessage(open, true, undefined, events);
      this.sampled.push(id);
      this.readHeader(id, events);
    } else if (!HEADER_MARKS.has(id)) {
      this.writeText(this.detokenizer.push(id), events);
    }
  }

  private readHeader(id: number, events: OutputEvent[]): void {
    if (id === HARMONY.start) {
      this.header = [];
      this.afterAssistant = false;
    } else if (id === HARMONY.message) {
      this.openMessage(parseHeader(this.header, this.tokenizer, this.afterAssistant), events);
    } else if (MESSAGE_ENDS.has(id)) {
      this.endUnopened(id, events);
    } else {
      this.header.push(id);
    }
  }

  /** @param end the id that ended the message; undefined when the output just stopped */
  private endUnopened(end: number | undefined, events: OutputEvent[]): void {
    const { channel, text, call } = parseUnopened(this.header, this.tokenizer, this.afterAssistant);
    const isCall = call !== undefined && this.resolve(call.recipient) !== undefined;
    if (text === '' && (channel === undefined || end === undefined)) {
      this.header = [];
      this.afterAssistant = true;
      return;
    }
    const open = this.openMessage(isCall ? call : channel === undefined ? {} : { channel }, events);
    this.writeText(isCall ? call.content : text, events);
    this.endMessage(open, true, end, events);
  }

  private openMessage(
    header: Pick<MessageHeader, 'recipient' | 'channel' | 'contentType'>,
    events: OutputEvent[],
  ): OutputHeader {
    if (this.closing !== undefined) events.push(this.closing);
    this.closing = undefined;
    const open = this.classify(header);
    this.open = open;
    this.held = open.type === 'custom_tool_call' && header.contentType === 'json' ? '' : undefined;
    this.args = isCallHeader(open) && open.type !== 'custom_tool_call' ? new CallArguments() : undefined;
    events.push({ kind: 'open', header: open });
    return open;
  }

  /** A known recipient makes a call on any channel; an unknown one makes a message. */
  private classify({ recipient, channel }: Pick<MessageHeader, 'recipient' | 'channel'>): OutputHeader {
    const addressed = recipient !== undefined && !EVERYBODY.has(recipient);
    const call = addressed ? this.resolve(recipient) : undefined;
    if (call !== undefined) return call;
    if (channel === 'analysis')
      return addressed ? { type: 'message', phase: 'commentary' } : { type: 'reasoning' };
    return { type: 'message', phase: channel === 'commentary' ? 'commentary' : 'final_answer' };
  }

  /** @param end the id that ended the message; undefined when the output just stopped */
  private endMessage(
    open: OutputHeader,
    complete: boolean,
    end: number | undefined,
    events: OutputEvent[],
  ): void {
    this.writeText(this.detokenizer.flush(), events);
    if (this.held !== undefined) {
      const text = unwrapFreeText(this.held);
      this.held = undefined;
      this.writeText(text, events);
    }
    const rest = this.args?.end(complete) ?? '';
    this.args = undefined;
    this.writeText(rest, events);
    const ids = [...this.opened, ...this.sampled];
    const isCall = isCallHeader(open);
    if (isCall && !complete) {
      ids.length = 0;
    } else {
      // An end of sampling is not what history has between two messages.
      if (end === HARMONY.return || end === HARMONY.endOfText) ids.pop();
      if (end !== HARMONY.end && end !== HARMONY.call) ids.push(isCall ? HARMONY.call : HARMONY.end);
    }
    this.closing = { kind: 'close', ids: Int32Array.from(ids), sampled: this.sampled.length, complete };
    this.opened = [];
    this.sampled = [];
    this.header = [];
    this.afterAssistant = true;
    this.open = undefined;
  }

  private writeText(written: string, events: OutputEvent[]): void {
    const text = this.args?.push(written) ?? written;
    if (text === '') return;
    const last = events.at(-1);
    if (this.held !== undefined) this.held += text;
    else if (last?.kind === 'text') last.text += text;
    else events.push({ kind: 'text', text });
  }
}
