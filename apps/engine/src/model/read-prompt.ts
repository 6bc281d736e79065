import { HARMONY, type HarmonyMessage, scanMessages, type Tokenizer } from '@turnpike/formats';
import { type DeveloperMessage, type OfferedTool, readDeveloperMessage } from './developer-message.js';
import { excerpt } from './excerpt.js';

/** What the prompt leaves open for the model to go on with. */
export interface OpenMessage {
  /** The header after `<|start|>`, control tokens as literals. */
  readonly header: string;
  /** The content so far; undefined while the header is not finished. */
  readonly content: string | undefined;
}

/** What the model gathers from a prompt. It knows nothing else. */
export interface PromptReading {
  /** The word after "Reasoning:" in the system message. */
  readonly effort: string;
  readonly tools: readonly OfferedTool[];
  readonly schema: Record<string, unknown> | undefined;
  /** User messages, and tool outputs, in the whole prompt. */
  readonly userMessages: number;
  readonly toolOutputs: number;
  /** The last user message. */
  readonly ask: string;
  /** Tool outputs after it. */
  readonly outputsOfTurn: number;
  /** The beginning of the last of these. */
  readonly lastOutput: string;
  /** Undefined when the prompt ends with a finished message. */
  readonly open: OpenMessage | undefined;
}

/** gpt-oss works at medium effort when the prompt names none. */
const DEFAULT_EFFORT = 'medium';
/** Characters of a tool output that are looked at: one more than an answer quotes. */
const OUTPUT_CHARACTERS = 201;

/**
 * Reads prompts. The messages of a prompt can be kept and handed in again with a longer one, so that only what is
 * new is scanned; what was decoded of a message lives as long as the message.
 */
export class PromptReader {
  private readonly texts = new WeakMap<HarmonyMessage, string>();
  private readonly developers = new WeakMap<HarmonyMessage, DeveloperMessage>();

  constructor(private readonly tokenizer: Tokenizer) {}

  /**
   * All finished messages of `ids`, of which the first `shared` are those in which `known` was found: messages that
   * end within them are taken over.
   */
  scan(ids: Int32Array, known: readonly HarmonyMessage[], shared: number): HarmonyMessage[] {
    let kept = known.length;
    while (kept > 0 && (known[kept - 1]?.end ?? 0) > shared) kept--;
    const messages = known.slice(0, kept);
    const fresh = scanMessages(ids, messages.at(-1)?.end ?? 0);
    for (const message of fresh) if (message.complete) messages.push(message);
    return messages;
  }

  /** @param messages the finished messages of `ids`, from {@link scan} */
  read(ids: Int32Array, messages: readonly HarmonyMessage[]): PromptReading {
    const lastUser = messages.findLastIndex((message) => message.role === 'user');
    const outputs = messages.slice(lastUser + 1).filter(isToolOutput);
    const asked = messages[lastUser];
    const lastOutput = outputs.at(-1);
    return {
      effort: this.effort(ids, messages),
      ...this.offers(ids, messages),
      userMessages: messages.filter((message) => message.role === 'user').length,
      toolOutputs: messages.filter(isToolOutput).length,
      ask: asked ? this.text(ids, asked) : '',
      outputsOfTurn: outputs.length,
      lastOutput: lastOutput ? this.beginning(ids, lastOutput) : '',
      open: this.open(ids, messages.at(-1)?.end ?? 0),
    };
  }

  private effort(ids: Int32Array, messages: readonly HarmonyMessage[]): string {
    const system = messages.findLast((message) => message.role === 'system');
    const line = system && /^Reasoning: (\S+)/m.exec(this.text(ids, system));
    return line?.[1]?.toLowerCase() ?? DEFAULT_EFFORT;
  }

  /** Tools add up over the developer messages, a later declaration of a name winning; so does the response format. */
  private offers(
    ids: Int32Array,
    messages: readonly HarmonyMessage[],
  ): Pick<PromptReading, 'tools' | 'schema'> {
    const tools = new Map<string, OfferedTool>();
    let schema: Record<string, unknown> | undefined;
    for (const message of messages) {
      if (message.role !== 'developer') continue;
      const read = this.developer(ids, message);
      for (const tool of read.tools) tools.set(tool.recipient, tool);
      schema = read.schema ?? schema;
    }
    return { tools: [...tools.values()], schema };
  }

  private developer(ids: Int32Array, message: HarmonyMessage): DeveloperMessage {
    const known = this.developers.get(message);
    if (known) return known;
    const read = readDeveloperMessage(
      this.tokenizer.decode(ids.subarray(message.contentStart, message.contentEnd)),
    );
    this.developers.set(message, read);
    return read;
  }

  private text(ids: Int32Array, message: HarmonyMessage): string {
    const known = this.texts.get(message);
    if (known !== undefined) return known;
    const text = this.spoken(ids.subarray(message.contentStart, message.contentEnd));
    this.texts.set(message, text);
    return text;
  }

  /** The first characters of a message. A token is at least a byte, a character at most four. */
  private beginning(ids: Int32Array, message: HarmonyMessage): string {
    const tokens = OUTPUT_CHARACTERS * 4 + 4;
    const end = Math.min(message.contentEnd, message.contentStart + tokens);
    return excerpt(this.spoken(ids.subarray(message.contentStart, end)), OUTPUT_CHARACTERS);
  }

  /** What a content says; an image is seen, not read. */
  private spoken(content: Int32Array): string {
    const text = content.includes(HARMONY.image) ? content.filter((id) => id !== HARMONY.image) : content;
    return this.tokenizer.decode(text);
  }

  private open(ids: Int32Array, from: number): OpenMessage | undefined {
    const start = ids.indexOf(HARMONY.start, from);
    if (start < 0) return undefined;
    const content = ids.indexOf(HARMONY.message, start);
    const header = this.tokenizer.decode(ids.subarray(start + 1, content < 0 ? ids.length : content));
    return { header, content: content < 0 ? undefined : this.tokenizer.decode(ids.subarray(content + 1)) };
  }
}

function isToolOutput(message: HarmonyMessage): boolean {
  return message.role === 'tool';
}
