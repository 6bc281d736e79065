import type { ResponseAssembler } from '@turnpike/assembly';
import type { OutputEvent } from '@turnpike/formats';
import type { EventFrame, Usage } from '@turnpike/protocol';
import type { OutputScanner } from '@turnpike/safety';

/** A text of the model, shown in one piece or not at all, holds something that must not reach a client. */
export class OutputBlocked extends Error {
  override readonly name = 'OutputBlocked';

  /** @param usage what it took */
  constructor(readonly usage: Usage) {
    super('the output was blocked');
  }
}

/** What sampling knows of an assembler. */
export type OutputAssembler = Pick<
  ResponseAssembler,
  'items' | 'push' | 'discardOpen' | 'reasoningTokens'
> & {
  /** Whether the output has something that may not be shown: what is generated behind it is not wanted. */
  readonly blocked?: boolean;
};

/**
 * An assembler that gets an output only as far as it has been looked through: the last place before events are written,
 * whatever engine and format they came from.
 */
export class GuardedAssembler implements OutputAssembler {
  readonly #assembler: ResponseAssembler;
  readonly scanner: OutputScanner | undefined;

  constructor(assembler: ResponseAssembler, scanner: OutputScanner | undefined) {
    this.#assembler = assembler;
    this.scanner = scanner;
  }

  get items(): ResponseAssembler['items'] {
    return this.#assembler.items;
  }

  get reasoningTokens(): number {
    return this.#assembler.reasoningTokens;
  }

  /** Whether something was found that may not be shown. */
  get blocked(): boolean {
    return this.scanner?.blocked === true;
  }

  discardOpen(): EventFrame[] {
    this.scanner?.discardOpen();
    return this.#assembler.discardOpen();
  }

  /** Nothing, from the moment that something may not be shown. */
  push(parsed: readonly OutputEvent[]): EventFrame[] {
    if (this.blocked) return [];
    if (this.scanner === undefined) return this.#assembler.push(parsed);
    const passed = this.scanner.take(parsed);
    return this.blocked ? [] : this.#assembler.push(passed);
  }
}
