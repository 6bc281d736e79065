import { type HarmonyMessage, o200kHarmony, scanMessages } from '@turnpike/formats';
import { startEngine } from '../src/engine.js';
import { type Scheduler } from '../src/pacing.js';
import { type EngineSettings } from '../src/settings.js';
import { impatientScheduler } from './manual-scheduler.js';

const tokenizer = o200kHarmony();

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
}

export interface Choice {
  index: number;
  text: string;
  finish_reason: string | null;
  stop_reason: number | null;
  prompt_token_ids?: number[];
  token_ids?: number[];
}

/** One event of a stream. */
export interface Chunk {
  object?: string;
  model?: string;
  choices?: Choice[];
  usage?: Usage;
  error?: { message: string; code: number };
}

/** An answer, put together from its chunks. */
export interface Answer {
  chunks: Chunk[];
  ids: number[];
  text: string;
  messages: { channel: string | undefined; recipient: string | undefined; content: string }[];
  finishReason: string | null | undefined;
  stopReason: number | null | undefined;
  usage: Usage | undefined;
  done: boolean;
}

export interface State {
  requests: number;
  running: number;
  aborted: number;
  tokens_generated: number;
  ids_parsed: number;
  slow_bodies: number;
  last: {
    prompt_tokens: number;
    cached_tokens: number;
    completion_tokens: number;
    finish_reason: string | null;
    aborted: boolean;
  };
}

/** A client of an engine that listens on a free port. */
export class EngineClient {
  constructor(
    readonly url: string,
    readonly close: () => Promise<void>,
  ) {}

  static async start(
    settings: Partial<EngineSettings> = {},
    scheduler: Scheduler = impatientScheduler,
  ): Promise<EngineClient> {
    const engine = await startEngine({ port: 0, ...settings }, scheduler);
    return new EngineClient(engine.url, () => engine.close());
  }

  post(body: object | string, signal?: AbortSignal): Promise<Response> {
    return fetch(`${this.url}/v1/completions`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
  }

  /** Streams an answer to its end. */
  async stream(prompt: readonly number[], more: object = {}): Promise<Answer> {
    const response = await this.post({
      prompt,
      max_tokens: 4000,
      stream: true,
      stream_options: { include_usage: true },
      return_token_ids: true,
      skip_special_tokens: false,
      ...more,
    });
    return readAnswer(await response.text(), prompt);
  }

  async state(): Promise<State> {
    return (await (await fetch(`${this.url}/debug/state`)).json()) as State;
  }

  /** Polls the state until it is so. */
  async until(condition: (state: State) => boolean): Promise<State> {
    for (;;) {
      const state = await this.state();
      if (condition(state)) return state;
    }
  }
}

export function readAnswer(body: string, prompt: readonly number[] = []): Answer {
  const events = body.split('\n\n').filter((event) => event.startsWith('data: '));
  const chunks = events
    .filter((event) => event !== 'data: [DONE]')
    .map((event) => JSON.parse(event.slice(6)) as Chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices ?? []);
  const ids = choices.flatMap((choice) => choice.token_ids ?? []);
  return {
    chunks,
    ids,
    text: choices.map((choice) => choice.text).join(''),
    messages: readMessages(prompt, ids),
    finishReason: choices.at(-1)?.finish_reason,
    stopReason: choices.at(-1)?.stop_reason,
    usage: chunks.find((chunk) => chunk.usage)?.usage,
    done: events.at(-1) === 'data: [DONE]',
  };
}

/** The messages that an output adds to its prompt. */
export function readMessages(prompt: readonly number[], output: readonly number[]): Answer['messages'] {
  const ids = Int32Array.from([...prompt, ...output]);
  const added = scanMessages(ids).filter((message: HarmonyMessage) => message.end > prompt.length);
  return added.map((message) => ({
    channel: message.channel,
    recipient: message.recipient,
    content: tokenizer.decode(ids.subarray(message.contentStart, message.contentEnd)),
  }));
}
