import { type ServerResponse } from 'node:http';

/** Answers that are remembered, the latest ones. */
const ANSWERS = 64;
/** Writes of one that are remembered, the latest ones. */
const WRITES = 1_024;

/** How one answer was written, for who knows how much of the connection a client has read. */
export interface WrittenAnswer {
  readonly request_id: string;
  /** The client's port. */
  readonly port: number;
  /** Bytes that were written on the connection so far, whatever they were part of. */
  readonly bytes: number;
  /** After each write: bytes on the connection, and tokens of the answer in them. */
  readonly writes: readonly (readonly [bytes: number, tokens: number])[];
}

/** Which bytes hold which tokens of the latest answers. */
export class WriteLog {
  readonly #answers: (() => WrittenAnswer)[] = [];

  /** @returns to be called after each write, with the tokens in it */
  begin(requestId: string, { socket }: ServerResponse): (tokens: number) => void {
    const writes: [number, number][] = [];
    let all = 0;
    this.#answers.push(() => ({
      request_id: requestId,
      port: socket?.remotePort ?? 0,
      bytes: socket?.bytesWritten ?? 0,
      writes,
    }));
    if (this.#answers.length > ANSWERS) this.#answers.shift();
    return (tokens) => {
      all += tokens;
      writes.push([socket?.bytesWritten ?? 0, all]);
      if (writes.length > WRITES) writes.shift();
    };
  }

  snapshot(): readonly WrittenAnswer[] {
    return this.#answers.map((answer) => answer());
  }
}
