import {
  echoOf,
  mintId,
  type CompactionItem,
  type EventFrame,
  type EventType,
  type IncompleteReason,
  type OutputItem,
  type ResponseObject,
  type SampledItem,
  type Usage,
} from '@turnpike/protocol';
import type { OutputEvent } from '@turnpike/formats';
import { EventWriter } from './event-writer.js';
import { terminalTypeOf } from './lifecycle-events.js';
import { TEXT_EVENTS, closeItem, contentPart, openItem, type TextEvents } from './items.js';

/** An item of the output with the ids it has in the next prompt. */
export interface AssembledItem {
  readonly item: OutputItem;
  /** Undefined for an item that is rendered from what it says. */
  readonly ids: Int32Array | undefined;
}

/** How a response ends. */
export type Ending =
  | { status: 'completed' }
  | { status: 'incomplete'; reason: IncompleteReason }
  | { status: 'failed'; code: string; message: string }
  | { status: 'cancelled' };

export interface AssemblerOptions {
  /** JSON text of the request's tools. */
  readonly toolsKey: string;
  /** Most bytes that lifecycle events spend on tools and instructions. */
  readonly echoBytes: number;
  /** The named lane that every event echoes. */
  readonly streamId?: string | undefined;
  /** Number of the next event, for a response whose `response.created` is out already. */
  readonly sequence?: number | undefined;
  /** Seals the ids of a reasoning item, for clients that bring their whole history back. */
  readonly seal?: ((ids: Int32Array) => string) | undefined;
}

const NO_IDS = new Int32Array(0);

interface OpenItem {
  readonly item: SampledItem & { id: string };
  /** Undefined for an item whose text is not streamed. */
  readonly events: TextEvents | undefined;
  readonly index: number;
  /** Everything a delta event says before its text. */
  readonly deltaHead: string;
  readonly texts: string[];
}

/**
 * Turns what a parser reads into the event stream of one response. Order, numbering, ids and the single terminal
 * event are decided here and nowhere else, for every engine, format and transport.
 */
export class ResponseAssembler {
  readonly #writer: EventWriter;
  readonly #toolsKey: string;
  readonly #echoBytes: number;
  readonly #seal: AssemblerOptions['seal'];
  readonly #isCreated: boolean;
  readonly #items: AssembledItem[] = [];
  #response: ResponseObject;
  #open: OpenItem | undefined;
  /** Id of the compaction item that is being made. */
  #compacting: string | undefined;
  #reasoningTokens = 0;
  #ended = false;
  #terminalWritten = false;

  /** @param response as {@link newResponse} made it */
  constructor(response: ResponseObject, options: AssemblerOptions) {
    this.#response = response;
    this.#toolsKey = options.toolsKey;
    this.#echoBytes = options.echoBytes;
    this.#seal = options.seal;
    this.#isCreated = options.sequence !== undefined;
    this.#writer = new EventWriter(options.streamId, options.sequence);
  }

  /** The response as it stands; final after {@link end}. */
  get response(): ResponseObject {
    return this.#response;
  }

  /** Closed items, in output order. */
  get items(): readonly AssembledItem[] {
    return this.#items;
  }

  /** Sampled ids that were reasoning. */
  get reasoningTokens(): number {
    return this.#reasoningTokens;
  }

  /** `response.created`, unless it is out already, and `response.in_progress`. */
  begin(): EventFrame[] {
    const response = JSON.stringify(echoOf(this.#response, this.#toolsKey, this.#echoBytes));
    const types = ['response.created', 'response.in_progress'] as const;
    return types
      .slice(this.#isCreated ? 1 : 0)
      .map((type) => this.#writer.raw(type, `"response":${response}`));
  }

  /**
   * A sign of life while nothing is produced. Not `response.in_progress` once more: a client that accumulates takes the
   * response in it for the whole state and loses the item it is in. Source: openai-node `accumulateResponse`, which
   * knows `keepalive`; other clients pass over it.
   */
  keepAlive(): EventFrame {
    return this.#writer.raw('keepalive', '');
  }

  /** An event that is no part of the output, in the place where it came: the answer to what a client asked for. */
  notice(type: EventType, fields: Record<string, unknown>): EventFrame {
    return this.#writer.event(type, fields);
  }

  /** Drops the item that is not finished, as an interruption asks; finished ones stay. */
  discardOpen(): EventFrame[] {
    const id = this.#open?.item.id ?? this.#compacting;
    if (id === undefined) return [];
    this.#open = undefined;
    this.#compacting = undefined;
    const place = { response_id: this.#response.id, item_id: id, output_index: this.#items.length };
    return [this.#writer.event('response.output_item.interrupted', place)];
  }

  /** Begins a compaction item. What it will say is not streamed: clients could not read it. */
  beginCompaction(): EventFrame[] {
    this.#requireClosed();
    const id = mintId('compaction');
    const index = this.#items.length;
    this.#compacting = id;
    const item: CompactionItem = { type: 'compaction', id, encrypted_content: '' };
    return [
      this.#writer.event('response.output_item.added', { output_index: index, item }),
      this.#writer.event('response.compaction.compacting', { item_id: id, output_index: index }),
    ];
  }

  /** Ends the compaction item. */
  endCompaction(sealed: string): { item: CompactionItem; frames: EventFrame[] } {
    const id = this.#compacting;
    if (id === undefined) throw new Error('no compaction item is open');
    this.#compacting = undefined;
    const item: CompactionItem = { type: 'compaction', id, encrypted_content: sealed };
    const index = this.#items.length;
    this.#items.push({ item, ids: NO_IDS });
    return {
      item,
      frames: [this.#writer.event('response.output_item.done', { output_index: index, item })],
    };
  }

  /** Events for what the parser read. */
  push(parsed: readonly OutputEvent[]): EventFrame[] {
    if (this.#ended) throw new Error('the response has already ended');
    const frames: EventFrame[] = [];
    for (const event of parsed) {
      if (event.kind === 'open') this.#openItem(event, frames);
      else if (event.kind === 'text') this.#text(event.text, frames);
      else this.#closeItem(event, frames);
    }
    return frames;
  }

  /**
   * Settles how the response ends. After this {@link response} is what a client may read anywhere. Until the terminal
   * event is written it can be settled again: a response that could not be committed ends as failed.
   */
  end(ending: Ending, usage: Usage, completedAt: number): void {
    if (this.#terminalWritten) throw new Error('the response has already ended');
    this.#requireClosed();
    this.#ended = true;
    this.#response = {
      ...this.#response,
      status: ending.status,
      completed_at: ending.status === 'completed' ? completedAt : null,
      incomplete_details: ending.status === 'incomplete' ? { reason: ending.reason } : null,
      error: ending.status === 'failed' ? { code: ending.code, message: ending.message } : null,
      output: this.#items.map(({ item }) => item),
      usage,
    };
  }

  /** The one terminal event. Written after the response is committed, so that its id can be used at once. */
  terminal(): EventFrame {
    const type = terminalTypeOf(this.#response);
    this.#terminalWritten = true;
    return this.#writer.raw(
      type,
      `"response":${JSON.stringify(echoOf(this.#response, this.#toolsKey, this.#echoBytes))}`,
    );
  }

  #openItem({ header }: Extract<OutputEvent, { kind: 'open' }>, frames: EventFrame[]): void {
    this.#requireClosed();
    const item = openItem(header);
    const index = this.#items.length;
    const events = TEXT_EVENTS[item.type];
    const place = `"item_id":"${item.id}","output_index":${index}`;
    const content = events?.part === undefined ? '' : ',"content_index":0';
    this.#open = { item, events, index, deltaHead: `${place}${content},"delta":`, texts: [] };
    frames.push(this.#writer.event('response.output_item.added', { output_index: index, item }));
    if (events?.part !== undefined) {
      const part = contentPart(events.part, '');
      frames.push(
        this.#writer.event('response.content_part.added', {
          item_id: item.id,
          output_index: index,
          content_index: 0,
          part,
        }),
      );
    }
  }

  #text(text: string, frames: EventFrame[]): void {
    const open = this.#open;
    if (open === undefined) throw new Error('text outside an output item');
    if (text === '') return;
    open.texts.push(text);
    if (open.events === undefined) return;
    const logprobs = open.events.logprobs ? ',"logprobs":[]' : '';
    frames.push(this.#writer.raw(open.events.delta, `${open.deltaHead}${JSON.stringify(text)}${logprobs}`));
  }

  #requireClosed(): void {
    if (this.#open !== undefined || this.#compacting !== undefined) {
      throw new Error('an output item is still open');
    }
  }

  #sealed<T extends SampledItem>(item: T, ids: Int32Array | undefined): T {
    if (item.type !== 'reasoning' || this.#seal === undefined || !ids?.length) return item;
    return { ...item, encrypted_content: this.#seal(ids) };
  }

  #closeItem(event: Extract<OutputEvent, { kind: 'close' }>, frames: EventFrame[]): void {
    const open = this.#open;
    if (open === undefined) throw new Error('close outside an output item');
    this.#open = undefined;
    const text = open.texts.join('');
    const { item: started, events, index } = open;
    const item = this.#sealed(closeItem(started, text, event.complete), event.ids);
    if (events !== undefined) this.#closeText(item, events, { text, index }, frames);
    frames.push(this.#writer.event('response.output_item.done', { output_index: index, item }));
    this.#items.push({ item, ids: event.ids });
    if (item.type === 'reasoning') this.#reasoningTokens += event.sampled;
  }

  /** What ends the streaming of an item's text. */
  #closeText(
    item: OutputItem & { id: string },
    events: TextEvents,
    { text, index }: { text: string; index: number },
    frames: EventFrame[],
  ): void {
    const place = { item_id: item.id, output_index: index };
    const content = events.part === undefined ? {} : { content_index: 0 };
    const name = item.type === 'function_call' ? { name: item.name } : {};
    const logprobs = events.logprobs ? { logprobs: [] } : {};
    frames.push(
      this.#writer.event(events.done, { ...place, ...content, [events.field]: text, ...name, ...logprobs }),
    );
    if (events.part === undefined) return;
    const part = contentPart(events.part, text);
    frames.push(this.#writer.event('response.content_part.done', { ...place, ...content, part }));
  }
}
