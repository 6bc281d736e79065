import { type HarmonyMessage, type Tokenizer } from '@turnpike/formats';
import { type ImageSize } from '@turnpike/images';
import { Filler } from './filler.js';
import { parseScript, type Script } from './markers.js';
import { openOutput } from './opening.js';
import { planOutput } from './plan.js';
import { PromptReader } from './read-prompt.js';
import { OutputWriter, type SampledIds } from './write.js';

/** Tokens after which a stall is put. */
const STALL_AFTER = 5;

/** What the model does in answer to a prompt. */
export interface ModelOutput extends SampledIds {
  /** A pause while sampling. */
  readonly stall: { readonly after: number; readonly ms: number } | undefined;
  /** A failure of the engine after so many tokens. */
  readonly failure: { readonly kind: 'die' | 'error'; readonly after: number } | undefined;
  /** An HTTP status to refuse the request with. */
  readonly status: number | undefined;
}

/**
 * A scripted model that speaks Harmony. It sees the ids of its prompt, the sizes of its images and nothing else, and the
 * same prompt always gives the same output.
 */
export class SimulatedModel {
  readonly reader: PromptReader;
  private readonly writer: OutputWriter;
  private readonly defaults: Script;

  /**
   * @param script markers for every request
   * @throws Error when the script has a mistake
   */
  constructor(
    readonly tokenizer: Tokenizer,
    script = '',
  ) {
    const { script: defaults, complaints } = parseScript(script);
    if (complaints.length > 0) throw new Error(complaints.join('; '));
    this.defaults = defaults;
    this.reader = new PromptReader(tokenizer);
    this.writer = new OutputWriter(tokenizer, new Filler(tokenizer));
  }

  /**
   * @param messages the finished messages of `ids`, as {@link PromptReader.scan} finds them
   * @param images what the placeholders of `ids` stand for
   */
  respond(
    ids: Int32Array,
    messages: readonly HarmonyMessage[],
    images: readonly ImageSize[] = [],
  ): ModelOutput {
    const reading = this.reader.read(ids, messages);
    const plan = planOutput(reading, images, this.defaults);
    const { stall, die, error, status, broken } = plan.script;
    return {
      ...this.writer.write(openOutput(plan, reading.open), broken),
      stall: stall === undefined ? undefined : { after: STALL_AFTER, ms: stall },
      failure: failureOf(die, error),
      status,
    };
  }
}

function failureOf(die: number | undefined, error: number | undefined): ModelOutput['failure'] {
  if (die !== undefined) return { kind: 'die', after: die };
  return error === undefined ? undefined : { kind: 'error', after: error };
}
