import { HARMONY, o200kHarmony } from '@turnpike/formats';

const tokenizer = o200kHarmony();

/** A declaration section as the Harmony renderer writes it. */
export const WEATHER_TOOL = [
  '// Gets the weather.',
  'type get_weather = (_: {',
  '// The city, e.g. "San Francisco"',
  'city: string,',
  'unit?: "c" | "f", // default: c',
  'days: number,',
  '}) => any;',
].join('\n');

export interface Conversation {
  effort?: string;
  instructions?: string;
  /** Tool declarations of the namespace `functions`. */
  tools?: readonly string[];
  schema?: object;
}

/** Builds prompts by hand, so that these tests do not depend on the renderer that other tests check. */
export class PromptBuilder {
  private readonly ids: number[] = [];

  constructor({ effort, instructions, tools = [], schema }: Conversation = {}) {
    const reasoning = effort === undefined ? '' : `\n\nReasoning: ${effort}`;
    this.add(
      'system',
      `You are ChatGPT, a large language model trained by OpenAI.${reasoning}\n\n# Valid channels: analysis, commentary, final.`,
    );
    const sections: string[] = [];
    if (instructions !== undefined) sections.push(`# Instructions\n\n${instructions}`);
    if (tools.length > 0) {
      sections.push(
        `# Tools\n\n## functions\n\nnamespace functions {\n\n${tools.join('\n\n')}\n\n} // namespace functions`,
      );
    }
    if (schema) sections.push(`# Response Formats\n\n## answer\n\n${JSON.stringify(schema)}`);
    if (sections.length > 0) this.add('developer', sections.join('\n\n'));
  }

  /** A whole message; `header` is what stands before the content, channel not included. */
  add(header: string, text: string, channel?: string): this {
    this.ids.push(HARMONY.start, ...tokenizer.encode(header));
    if (channel !== undefined) this.ids.push(HARMONY.channel, ...tokenizer.encode(channel));
    this.ids.push(HARMONY.message, ...tokenizer.encode(text), HARMONY.end);
    return this;
  }

  user(text: string): this {
    return this.add('user', text);
  }

  output(name: string, text: string): this {
    return this.add(`functions.${name} to=assistant`, text, 'commentary');
  }

  /** Sampled ids; a `<|return|>` at the end becomes `<|end|>`, as in a history. */
  sampled(ids: ArrayLike<number>): this {
    const last = ids[ids.length - 1];
    this.ids.push(...Array.from(ids));
    if (last === HARMONY.return) this.ids[this.ids.length - 1] = HARMONY.end;
    return this;
  }

  /** Opens the model's turn; what follows is the beginning of a header that it has to go on with. */
  generation(...begun: (number | string)[]): number[] {
    this.ids.push(HARMONY.start, ...tokenizer.encode('assistant'));
    for (const piece of begun)
      this.ids.push(...(typeof piece === 'string' ? tokenizer.encode(piece) : [piece]));
    return [...this.ids];
  }
}
