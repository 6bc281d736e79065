import { type LlamaContext, type LlamaSequence } from './node-llama-cpp.js';
import { chooseSequence, type Choice } from './sequence-choice.js';
import { type CopySequence } from './sequence-copy.js';

/** A sequence between requests. */
interface KeptSequence {
  sequence: LlamaSequence;
  tokens: readonly number[];
  opening: number;
  salt: string;
  settled: boolean;
  /** Resolves when nothing is evaluated in it any more. */
  ready: Promise<void>;
}

/** A sequence that one request has to itself. */
export interface Lease {
  readonly sequence: LlamaSequence;
  /** Tokens of the prompt that the sequence holds; it holds nothing else. */
  readonly kept: number;
  /** How many tokens have been evaluated for this lease, by llama.cpp's own count. */
  readonly evaluated: () => number;
  /**
   * Gives the sequence back with all that it holds.
   * @param last the last token sampled, which is evaluated now, so that the whole output is there for the next turn
   */
  release(last?: number): void;
  /** Gives it back after an error: what it holds is not known, and forgotten. */
  discard(): void;
}

interface Waiting {
  readonly prompt: readonly number[];
  readonly salt: string;
  readonly signal: AbortSignal;
  readonly take: (choice: Choice<KeptSequence>) => void;
}

/** The sequences of a context: each request has one for itself; the next that shares its prefix gets the same. */
export class SequencePool {
  /** Least recently used first. */
  private readonly idle: KeptSequence[] = [];
  /** Those that a request generates into, and the signal of its client. */
  private readonly running = new Map<KeptSequence, AbortSignal>();
  private readonly queue: Waiting[] = [];

  /** @param copy undefined where sequences cannot be copied */
  constructor(
    private readonly context: LlamaContext,
    count: number,
    private copy: CopySequence | undefined,
  ) {
    for (let i = 0; i < count; i++) {
      const sequence = context.getSequence();
      const ready = Promise.resolve();
      this.idle.push({ sequence, tokens: [], opening: 0, salt: '', settled: false, ready });
    }
  }

  /** Requests that wait for a sequence. */
  get waiting(): number {
    return this.queue.length;
  }

  /**
   * A sequence that holds as much of the prompt as any, cut to what they share. Requests are served in their order.
   * @throws the signal's reason when it aborts before; the engine's error when the sequence cannot be cut
   */
  async acquire(prompt: readonly number[], salt: string, signal: AbortSignal): Promise<Lease> {
    const { candidate: entry, keep, source } = await this.turn(prompt, salt, signal);
    try {
      if (source !== undefined) await this.copied(source, entry);
      await entry.ready;
      // Some models evaluate again what is left when a sequence is cut: that counts as well.
      const evaluated = counter(entry.sequence);
      // Less than was chosen for where the sequence had to be renewed.
      const held = entry.sequence.contextTokens.length;
      const kept = Math.min(keep, held);
      if (kept < held) await entry.sequence.eraseContextTokenRanges([{ start: kept, end: held }]);
      if (kept < entry.opening || entry.opening === 0) entry.opening = prompt.length;
      entry.salt = salt;
      entry.settled = false;
      return this.lease(entry, kept, evaluated);
    } catch (error) {
      this.forget(entry);
      throw error;
    }
  }

  /** Waits until it is this request's turn; what it gets is no longer idle. */
  private turn(prompt: readonly number[], salt: string, signal: AbortSignal): Promise<Choice<KeptSequence>> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.queue.splice(this.queue.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const waiting: Waiting = {
        prompt,
        salt,
        signal,
        take: (choice) => {
          signal.removeEventListener('abort', leave);
          resolve(choice);
        },
      };
      if (signal.aborted) return reject(signal.reason as Error);
      signal.addEventListener('abort', leave, { once: true });
      this.queue.push(waiting);
      this.serve();
    });
  }

  private serve(): void {
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      const { idle } = this;
      const sequences = { idle, leaving: this.leaving(), copies: this.copy !== undefined };
      const choice = chooseSequence(sequences, next.prompt, next.salt);
      // Whoever gives a sequence back serves again.
      if (!choice || !idle.includes(choice.candidate)) return;
      this.queue.shift();
      idle.splice(idle.indexOf(choice.candidate), 1);
      // Nobody else gets the sequence that is copied from before that is done.
      if (choice.source !== undefined) idle.splice(idle.indexOf(choice.source), 1);
      this.running.set(choice.candidate, next.signal);
      next.take(choice);
    }
  }

  /**
   * Copies one sequence into another, and gives the first one back. When that fails, the other one is empty, and it is not
   * tried again: there is too little memory for it.
   */
  private async copied(source: KeptSequence, entry: KeptSequence): Promise<void> {
    try {
      await Promise.all([source.ready, entry.ready]);
      await this.copy?.(source.sequence, entry.sequence);
      entry.opening = source.opening;
    } catch {
      this.copy = undefined;
      entry.ready = this.renew(entry);
    } finally {
      this.giveBack(source);
    }
  }

  /**
   * Sequences whose clients have left, and that are idle after the token in hand. A client that stops an answer and asks
   * for another one instead, as a gateway that makes a model call a tool does, is to find its prompt.
   */
  private leaving(): KeptSequence[] {
    const entries = [...this.running].filter(([, signal]) => signal.aborted).map(([entry]) => entry);
    for (const entry of entries) entry.tokens = entry.sequence.contextTokens;
    return entries;
  }

  private lease(entry: KeptSequence, kept: number, evaluated: () => number): Lease {
    const { sequence } = entry;
    return {
      sequence,
      kept,
      evaluated,
      release: (last) => {
        entry.tokens = sequence.contextTokens;
        // A prompt that was left half evaluated is gone on with by the one that repeats it.
        entry.opening = Math.min(entry.opening, entry.tokens.length);
        if (last !== undefined) {
          entry.settled = true;
          entry.tokens = [...entry.tokens, last];
          entry.ready = sequence.evaluateWithoutGeneratingNewTokens([last]).catch(() => this.renew(entry));
        }
        this.giveBack(entry);
      },
      discard: () => this.forget(entry),
    };
  }

  private forget(entry: KeptSequence): void {
    entry.tokens = [];
    entry.ready = this.renew(entry);
    // Whoever gets the sequence next meets the error.
    entry.ready.catch(() => undefined);
    this.giveBack(entry);
  }

  /** Puts a new sequence in the place of one that is not to be trusted. */
  private async renew(entry: KeptSequence): Promise<void> {
    await entry.sequence.dispose();
    entry.sequence = this.context.getSequence();
    entry.opening = 0;
  }

  private giveBack(entry: KeptSequence): void {
    this.running.delete(entry);
    this.idle.push(entry);
    this.serve();
  }
}

/** Tokens that the sequence has evaluated since this was called. */
function counter({ tokenMeter }: LlamaSequence): () => number {
  const total = (): number => {
    const { usedInputTokens, usedOutputTokens } = tokenMeter.getState();
    return usedInputTokens + usedOutputTokens;
  };
  const before = total();
  return () => total() - before;
}
