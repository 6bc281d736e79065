import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { chat, harmony, TokenEncoder, type Format } from '@turnpike/formats';
import { modelFormat } from './config/model-format.js';
import type { ModelConfig } from './config/schema.js';

/** The formats models can be configured with, each with the encoder of its vocabulary. */
@Injectable()
export class Formats implements OnApplicationShutdown {
  readonly #encoders = new Map<string, TokenEncoder>();

  /** The format of a model. */
  get(model: ModelConfig): Format {
    return modelFormat(model);
  }

  /** The format of a model that an engine lists under this name; undefined when it says nothing of that. */
  known(model: string): Format | undefined {
    return GPT_OSS.test(model) ? harmony() : undefined;
  }

  /** The format of models that are given messages, of which nothing else has to be known. */
  ofMessages(): Format {
    return chat();
  }

  /** The encoder of a format's vocabulary; formats of one vocabulary share it. */
  encoder({ tokenizer }: Format): TokenEncoder {
    const known = this.#encoders.get(tokenizer.source);
    if (known !== undefined) return known;
    const encoder = new TokenEncoder(tokenizer);
    this.#encoders.set(tokenizer.source, encoder);
    return encoder;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#encoders.values()].map((encoder) => encoder.close()));
  }
}

/** As in `openai/gpt-oss-20b`, and `gpt-oss:20b` at Ollama. */
const GPT_OSS = /gpt-oss/i;
