/** One request, as far as it has come. */
export interface RequestRecord {
  prompt_tokens: number;
  cached_tokens: number;
  completion_tokens: number;
  finish_reason: string | null;
  aborted: boolean;
}

/** Requests that are remembered. */
const RECENT = 32;

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
  /** The requests accepted last, in their order. */
  readonly recent: RequestRecord[] = [];

  /** The request accepted last. */
  get last(): RequestRecord | undefined {
    return this.recent.at(-1);
  }

  accept(promptTokens: number, cachedTokens: number): RequestRecord {
    this.requests++;
    this.running++;
    const record: RequestRecord = {
      prompt_tokens: promptTokens,
      cached_tokens: cachedTokens,
      completion_tokens: 0,
      finish_reason: null,
      aborted: false,
    };
    this.recent.push(record);
    if (this.recent.length > RECENT) this.recent.shift();
    return record;
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
      recent: this.recent,
    };
  }
}
