import type { CallTarget, FinishReason, OutputEvent } from '@turnpike/formats';
import {
  callHeader,
  freeText,
  messageHeader,
  OutputWriter,
  type TokenEstimate,
} from '../chat/output-writer.js';
import { errorOfObject } from '../engine-errors.js';
import type { EngineUsage } from '../engine-usage.js';
import type { MessageChunk, MessageFinish, MessageReader } from '../messages.js';
import { countOf, fieldsOf, type Fields } from '../read-values.js';

export interface ResponsesReaderOptions {
  /** Tools by the names of their functions. */
  readonly targets: ReadonlyMap<string, CallTarget>;
  readonly estimate: TokenEstimate;
  /** Ids of an item that the server sealed. */
  readonly sealedIds: (item: Fields) => Int32Array;
}

/** Events that bring text of the item that is open. */
const DELTAS = new Set([
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.function_call_arguments.delta',
]);

/** Reads the stream of `/v1/responses`, or the one object of a server that does not stream. Items of its own tools are passed over. */
export class ResponsesReader implements MessageReader {
  readonly #options: ResponsesReaderOptions;
  readonly #writer: OutputWriter;
  /** What has been said of the item that is open. */
  #text = '';

  constructor(options: ResponsesReaderOptions) {
    this.#options = options;
    this.#writer = new OutputWriter(options.estimate);
  }

  read(event: Fields): MessageChunk {
    const { type, error } = event;
    if (type === 'error') throw errorOfObject(error ?? event);
    if (type === undefined && error !== undefined && error !== null) throw errorOfObject(error);
    const item = fieldsOf(event['item']);
    if (type === 'response.output_item.added') this.#open(item);
    else if (type === 'response.output_item.done') this.#done(item);
    else if (type === 'response.reasoning_summary_part.added' && this.#text !== '') this.#say('\n\n');
    else if (DELTAS.has(String(type))) this.#say(typeof event['delta'] === 'string' ? event['delta'] : '');
    const isWhole = event['object'] === 'response';
    const response = isWhole ? event : fieldsOf(event['response']);
    if (isWhole && Array.isArray(event['output'])) {
      for (const each of (event['output'] as unknown[]).map(fieldsOf)) {
        this.#open(each);
        this.#done(each);
      }
    }
    const finish = isWhole || isEnd(type) ? endOf(response) : undefined;
    return {
      ...this.#writer.take(),
      finish,
      usage: finish === undefined ? undefined : usageOf(response['usage']),
    };
  }

  close(reason: FinishReason): readonly OutputEvent[] {
    this.#writer.close(reason === 'stop');
    return this.#writer.take().events;
  }

  #open({ type, name, phase }: Fields): void {
    this.#writer.close();
    this.#text = '';
    if (type === 'reasoning') this.#writer.begin({ type });
    else if (type === 'message') {
      this.#writer.begin(messageHeader(phase === 'commentary' ? phase : 'final_answer'));
    } else if (type === 'function_call' && typeof name === 'string') {
      this.#writer.begin(callHeader(name, this.#options.targets));
    }
  }

  /** The text of a tool of free text stands in the arguments, and is known when they are whole. */
  #say(text: string): void {
    if (this.#writer.open === undefined) return;
    this.#text += text;
    if (this.#writer.open !== 'custom_tool_call') this.#writer.append(text);
  }

  #done(item: Fields): void {
    if (this.#writer.open === undefined) return;
    const whole = textOf(item);
    if (this.#text === '') this.#say(whole);
    if (this.#writer.open === 'custom_tool_call') this.#writer.append(freeText(this.#text));
    const { type, summary, content, encrypted_content } = item;
    const isSealed = type === 'reasoning' && typeof encrypted_content === 'string';
    const complete = item['status'] !== 'incomplete';
    if (isSealed) {
      // Its id is left out: the server has not kept what it would name.
      const sealed = { type, summary: summary ?? [], ...(content ? { content } : {}), encrypted_content };
      this.#writer.close(complete, this.#options.sealedIds(sealed));
    } else this.#writer.close(complete);
  }
}

/** Everything that an item says. */
function textOf({ type, content, summary, arguments: args }: Fields): string {
  if (type === 'function_call') return typeof args === 'string' ? args : '';
  const parts = Array.isArray(content) && content.length > 0 ? content : summary;
  if (!Array.isArray(parts)) return '';
  return parts
    .map(fieldsOf)
    .map(({ text, refusal }) =>
      typeof text === 'string' ? text : typeof refusal === 'string' ? refusal : '',
    )
    .join('');
}

function isEnd(type: unknown): boolean {
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed';
}

/** @throws ApiError for a response that failed */
function endOf({ status, error, incomplete_details: details }: Fields): MessageFinish {
  if (status === 'failed') throw errorOfObject(error);
  if (status !== 'incomplete') return status === 'completed' ? 'stop' : 'abort';
  const { reason } = fieldsOf(details);
  if (reason === 'content_filter') return reason;
  return reason === 'max_output_tokens' ? 'length' : 'abort';
}

function usageOf(usage: unknown): EngineUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const fields = fieldsOf(usage);
  const details = fieldsOf(fields['input_tokens_details']);
  return {
    promptTokens: countOf(fields['input_tokens']),
    completionTokens: countOf(fields['output_tokens']),
    cachedTokens: countOf(details['cached_tokens']),
    cacheWriteTokens: countOf(details['cache_write_tokens']),
    reasoningTokens: countOf(fieldsOf(fields['output_tokens_details'])['reasoning_tokens']),
  };
}
