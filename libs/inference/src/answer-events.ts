import type { EventReader } from './dialect.js';
import type { EngineChunk } from './engine-client.js';
import { ApiError } from '@turnpike/protocol';
import { unreadable } from './engine-errors.js';
import { fieldsOf } from './read-values.js';
import { END_OF_STREAM } from './transport/answer-stream.js';
import type { EngineAnswer } from './transport/engine-http.js';

/** Longest silence behind the finish, where counts may still follow, and behind the last word, in ms. */
const BEHIND_FINISH_MS = 10_000;
const BEHIND_END_MS = 1_000;
/** The first event of some servers repeats the whole prompt, which is ours already and would be parsed for nothing. */
const PROMPT_ECHO = '"prompt_token_ids":[';

/** What one read brought. */
export interface ReadEvents {
  readonly chunk: EngineChunk;
  /** An error among the events; what was sampled before it is not lost. */
  readonly failure: ApiError | undefined;
  /** Whether ids came behind the finish: the server does not know that the output has ended. */
  readonly beyond: boolean;
}

/**
 * Everything that one read brought, as one chunk: what follows is done once per chunk, not once per token.
 * @param finished whether the output ended in an earlier read
 */
export function readEvents(events: readonly string[], reader: EventReader, finished: boolean): ReadEvents {
  const ids: number[] = [];
  let lost = 0;
  let finish: EngineChunk['finish'];
  let usage: EngineChunk['usage'];
  let failure: ApiError | undefined;
  let beyond = false;
  try {
    for (const data of events) {
      if (data === END_OF_STREAM) continue;
      const chunk = reader.read(parseEvent(data));
      if (finished || finish !== undefined) beyond ||= chunk.ids.length > 0;
      else for (const id of chunk.ids) ids.push(id);
      lost += chunk.lost ?? 0;
      finish ??= chunk.finish;
      usage = chunk.usage ?? usage;
    }
  } catch (thrown) {
    failure = thrown instanceof ApiError ? thrown : unreadable();
  }
  return { chunk: { ids, ...(lost > 0 ? { lost } : {}), finish, usage }, failure, beyond };
}

/**
 * A server that has finished and does not end its answer is not waited for as one that is at work.
 * @param finished whether it has said how the output ended
 */
export function hurry(answer: EngineAnswer, events: readonly string[], finished: boolean): void {
  if (events.includes(END_OF_STREAM)) answer.closing(BEHIND_END_MS);
  else if (finished) answer.closing(BEHIND_FINISH_MS);
}

/** An event as an object. @throws SyntaxError; ApiError for what is no object */
export function parseEvent(data: string): Readonly<Record<string, unknown>> {
  const echo = data.indexOf(PROMPT_ECHO);
  const text =
    echo === -1 ? data : data.slice(0, echo + PROMPT_ECHO.length) + data.slice(data.indexOf(']', echo));
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw unreadable();
  return fieldsOf(value);
}
