import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { harmony, TokenEncoder, type Format } from '@turnpike/formats';

/** The formats models can be configured with, each with the encoder of its vocabulary. */
@Injectable()
export class Formats implements OnApplicationShutdown {
  readonly #encoders = new Map<string, TokenEncoder>();

  /** The format of that name. */
  get(name: 'harmony'): Format {
    return FORMATS[name]();
  }

  /** The encoder of a format's vocabulary; formats of one vocabulary share it. */
  encoder({ tokenizer }: Format): TokenEncoder {
    const known = this.#encoders.get(tokenizer.name);
    if (known !== undefined) return known;
    const encoder = new TokenEncoder(tokenizer);
    this.#encoders.set(tokenizer.name, encoder);
    return encoder;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#encoders.values()].map((encoder) => encoder.close()));
  }
}

const FORMATS = { harmony };
