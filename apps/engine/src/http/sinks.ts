import { type ServerResponse } from 'node:http';
import { type TokenSink } from '../generation/generation.js';
import { type OutputEnd } from '../generation/output-end.js';
import { type EngineStats, type RequestRecord } from '../generation/stats.js';
import { type AnswerContext } from './answer-context.js';
import { errorBody } from './errors.js';

/** An answer as server-sent events in the shape of vLLM's: each batch of tokens is one event and one write. */
export class StreamSink implements TokenSink {
  private first = true;
  private readonly head: string;
  private readonly wrote: (tokens: number) => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly context: AnswerContext,
    { written }: Pick<EngineStats, 'written'>,
  ) {
    const { id, created, model, record } = context;
    this.wrote = written.begin(record.request_id, response);
    this.head = JSON.stringify({ id, object: 'text_completion', created, model }).slice(0, -1);
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    });
    response.flushHeaders();
  }

  tokens(ids: Int32Array, end: OutputEnd | undefined): boolean {
    const { request, promptIds, text } = this.context;
    const choice = JSON.stringify({
      index: 0,
      text: text.push(ids, end?.stopReason ?? null, end !== undefined),
      logprobs: null,
      finish_reason: end?.finishReason ?? null,
      stop_reason: end?.stopReason ?? null,
    });
    const prompt = this.first && promptIds ? `,"prompt_token_ids":[${promptIds.join(',')}]` : '';
    const sampled = request.returnTokenIds ? `,"token_ids":[${ids.join(',')}]` : '';
    this.first = false;
    const event = `data: ${this.head},"choices":[${choice.slice(0, -1)}${prompt}${sampled}}]}\n\n`;
    let ready = true;
    if (!end) ready = this.response.write(event);
    else this.response.end(`${event}${request.includeUsage ? this.usageEvent() : ''}data: [DONE]\n\n`);
    this.wrote(ids.length);
    return ready;
  }

  fail(message: string): void {
    this.response.end(`data: ${JSON.stringify(errorBody(500, message))}\n\ndata: [DONE]\n\n`);
  }

  cut(): void {
    this.response.write(': \n\n', () => this.response.destroy());
  }

  private usageEvent(): string {
    return `data: ${this.head},"choices":[],"usage":${JSON.stringify(usage(this.context.record))}}\n\n`;
  }
}

/** An answer as one JSON body, written when everything is generated. */
export class JsonSink implements TokenSink {
  private readonly ids: number[] = [];

  constructor(
    private readonly response: ServerResponse,
    private readonly context: AnswerContext,
  ) {}

  tokens(ids: Int32Array, end: OutputEnd | undefined): boolean {
    for (const id of ids) this.ids.push(id);
    if (!end) return true;
    const { id, created, model, request, record, promptIds, text } = this.context;
    const choice = {
      index: 0,
      text: text.push(Int32Array.from(this.ids), end.stopReason, true),
      logprobs: null,
      finish_reason: end.finishReason,
      stop_reason: end.stopReason,
      ...(promptIds && { prompt_token_ids: Array.from(promptIds) }),
      ...(request.returnTokenIds && { token_ids: this.ids }),
    };
    const body = { id, object: 'text_completion', created, model, choices: [choice], usage: usage(record) };
    sendJson(this.response, 200, body);
    return true;
  }

  fail(message: string): void {
    sendJson(this.response, 500, errorBody(500, message));
  }

  cut(): void {
    this.response.destroy();
  }
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function usage(record: RequestRecord): object {
  return {
    prompt_tokens: record.prompt_tokens,
    total_tokens: record.prompt_tokens + record.completion_tokens,
    completion_tokens: record.completion_tokens,
    prompt_tokens_details: { cached_tokens: record.cached_tokens },
  };
}
