import type { OutputEvent, OutputHeader } from '@turnpike/formats';
import { newResponse, parseRequest, type EventFrame, type Usage } from '@turnpike/protocol';
import { ResponseAssembler, type Ending } from '../src/index.js';

/** Most bytes that the events of these responses spend on tools and instructions. */
export const ECHO_BYTES = 256 * 1024;

/** One message of a model, as a test writes it down. */
export interface Message {
  readonly header: OutputHeader;
  readonly texts: readonly string[];
  readonly complete?: boolean;
}

/** An event as a client parses it. */
export type ClientEvent = { type: string; sequence_number: number } & Record<string, unknown>;

export const USAGE: Usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
};

export const message = (...texts: string[]): Message => ({
  header: { type: 'message', phase: 'final_answer' },
  texts,
});
export const reasoning = (...texts: string[]): Message => ({ header: { type: 'reasoning' }, texts });
export const functionCall = (...texts: string[]): Message => ({
  header: { type: 'function_call', name: 'get_weather' },
  texts,
});
export const customCall = (...texts: string[]): Message => ({
  header: { type: 'custom_tool_call', name: 'apply_patch' },
  texts,
});
export const toolSearch = (...texts: string[]): Message => ({
  header: { type: 'tool_search_call', name: 'tool_search' },
  texts,
});

/** What a parser would say about these messages. */
export function parsed(messages: readonly Message[]): OutputEvent[] {
  return messages.flatMap(({ header, texts, complete = true }) => [
    { kind: 'open', header },
    ...texts.map((text): OutputEvent => ({ kind: 'text', text })),
    { kind: 'close', ids: Int32Array.of(texts.length), sampled: texts.length, complete },
  ]);
}

export function assembler(request: Record<string, unknown> = {}, streamId?: string): ResponseAssembler {
  const read = parseRequest({ model: 'm', ...request }, 'http');
  return new ResponseAssembler(newResponse('resp_1', read, 1_764_000_000), {
    toolsKey: read.toolsKey,
    echoBytes: ECHO_BYTES,
    streamId,
  });
}

/** Runs a whole response; `chunks` are what the parser said per engine chunk. */
export function run(
  response: ResponseAssembler,
  chunks: readonly (readonly OutputEvent[])[],
  ending: Ending = { status: 'completed' },
): EventFrame[] {
  const frames = [...response.begin(), ...chunks.flatMap((chunk) => response.push(chunk))];
  response.end(ending, USAGE, 1_764_000_009);
  return [...frames, response.terminal()];
}

export function read(frames: readonly EventFrame[]): ClientEvent[] {
  return frames.map(({ json }) => JSON.parse(json) as ClientEvent);
}
