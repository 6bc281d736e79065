import { HARMONY, type Tokenizer } from '@turnpike/formats';
import { type Filler } from './filler.js';
import { brokenHeader, messageHeader, type Piece } from './header.js';
import { type Breakage } from './markers.js';
import { type Opening } from './opening.js';
import { type PlannedMessage } from './planned-message.js';

/** Ids that a model samples one after the other. */
export interface SampledIds {
  readonly ids: Int32Array;
  /** Repeated for ever after `ids`; empty when the output ends by itself. */
  readonly loop: Int32Array;
}

/** Turns messages into ids: each text by the tokenizer's own encoding, control tokens as what they are. */
export class OutputWriter {
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly filler: Filler,
  ) {}

  write(opening: Opening, broken: Breakage | undefined): SampledIds {
    const parts: Int32Array[] = [];
    for (const [i, message] of opening.messages.entries()) {
      const last = i === opening.messages.length - 1;
      const header = i === 0 ? opening.header : this.header(message, opening, broken);
      parts.push(this.encode(last && broken === 'nomessage' ? withoutMessage(header) : header));
      parts.push(this.content(message));
      if (message.padding?.kind === 'endless') return { ids: joined(parts), loop: this.filler.round };
      parts.push(Int32Array.from(ending(message, i, last, broken)));
    }
    return { ids: joined(parts), loop: new Int32Array() };
  }

  private header(message: PlannedMessage, opening: Opening, broken: Breakage | undefined): Piece[] {
    if (broken === 'header') return brokenHeader(message);
    return [HARMONY.start, ...messageHeader(message, opening.form)];
  }

  private content(message: PlannedMessage): Int32Array {
    const text = this.tokenizer.encode(message.text);
    if (message.padding?.kind !== 'upTo') return text;
    return joined([text, this.filler.tokens(message.padding.tokens - text.length)]);
  }

  private encode(pieces: readonly Piece[]): Int32Array {
    return joined(
      pieces.map((piece) =>
        typeof piece === 'string' ? this.tokenizer.encode(piece) : Int32Array.of(piece),
      ),
    );
  }
}

/** Messages of one output are parted by `<|end|>`; the last one ends sampling. */
function ending(
  message: PlannedMessage,
  index: number,
  last: boolean,
  broken: Breakage | undefined,
): number[] {
  if (!last) return index === 0 && broken === 'stray' ? [HARMONY.end, HARMONY.end] : [HARMONY.end];
  const stop = message.recipient === undefined ? HARMONY.return : HARMONY.call;
  if (broken === 'noend') return [];
  return broken === 'stray' ? [HARMONY.end, stop] : [stop];
}

function withoutMessage(header: readonly Piece[]): Piece[] {
  return header.map((piece) => (piece === HARMONY.message ? ' ' : piece));
}

function joined(parts: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
