import { WriteLog } from './write-log.js';

/** Requests that are remembered one by one. */
const REMEMBERED = 100_000;
/** Of those, how many a snapshot shows. */
const SHOWN = 32;

/** One request, as far as it has come. */
export interface RequestRecord {
  /** What its client called it. */
  request_id: string;
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  finish_reason: string | null;
  aborted: boolean;
}

/** Counts since the start, for tests and for the curious. */
export class EngineStats {
  /** Requests that were accepted, those running included. */
  requests = 0;
  running = 0;
  /** Requests whose client left before the end. */
  aborted = 0;
  /** Requests answered with an error. */
  rejected = 0;
  tokensGenerated = 0;
  /** Ids of prompts that had to be parsed out of JSON: the rest was recognised as bytes. */
  idsParsed = 0;
  /** Bodies that were not recognised and went through JSON.parse. */
  slowBodies = 0;
  /** The request accepted last. */
  last: RequestRecord | undefined;
  /** How the latest answers were written. */
  readonly written = new WriteLog();
  /** The latest requests, the oldest first. */
  readonly #latest: RequestRecord[] = [];

  accept(promptTokens: number, cachedTokens: number, requestId: string): RequestRecord {
    this.requests++;
    this.running++;
    this.last = {
      request_id: requestId,
      prompt_tokens: promptTokens,
      cached_tokens: cachedTokens,
      completion_tokens: 0,
      finish_reason: null,
      aborted: false,
    };
    this.#latest.push(this.last);
    if (this.#latest.length > REMEMBERED) this.#latest.shift();
    return this.last;
  }

  /** What the latest requests took, as CSV: a statement to compare bills with. */
  statement(): string {
    const rows = this.#latest.map(
      ({ request_id, prompt_tokens, completion_tokens, finish_reason }) =>
        `"${request_id.replaceAll(/["\r\n]/g, '')}",${prompt_tokens},${completion_tokens},${finish_reason ?? ''}\n`,
    );
    return ['request_id,prompt_tokens,completion_tokens,finish_reason\n', ...rows].join('');
  }

  snapshot(): object {
    return {
      requests: this.requests,
      running: this.running,
      aborted: this.aborted,
      rejected: this.rejected,
      tokens_generated: this.tokensGenerated,
      ids_parsed: this.idsParsed,
      slow_bodies: this.slowBodies,
      last: this.last ?? null,
      recent: this.#latest.slice(-SHOWN),
    };
  }
}
