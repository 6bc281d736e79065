import {
  MemoryConversationStore,
  MemoryResponseStore,
  type Conversation,
  type ConversationStore,
} from '@turnpike/conversation';
import { harmony, TokenEncoder } from '@turnpike/formats';
import type { EngineChunk, EngineClient, GenerateRequest } from '@turnpike/inference';
import { mintId, parseRequest, type EventFrame, type Item } from '@turnpike/protocol';
import { joiningItems } from '../src/turn/conversation-items.js';
import type { TurnOutcome } from '../src/turn/turn-input.js';
import type { TurnService } from '../src/turn/turn.service.js';
import { routerTo, testTurnService } from './turn-service.js';

const TENANT = 'tenant';
const FORMAT = harmony();
const BYTES = 10_000_000;

/** Turns in a process of their own, with an engine whose answers the test decides. */
export class Turns {
  readonly responses = new MemoryResponseStore(BYTES);
  readonly conversations: ConversationStore;
  /** Ids of every prompt that the engine got. */
  readonly prompts: number[][] = [];
  /** Tokens that were encoded, not taken over by their ids. */
  encoded = 0;
  /** What the engine does next; by default it answers. */
  answer: (text: string) => AsyncIterable<EngineChunk>;
  readonly #service: TurnService;

  constructor(conversations: ConversationStore = new MemoryConversationStore(BYTES)) {
    this.conversations = conversations;
    this.answer = async function* (text) {
      await Promise.resolve();
      yield { ids: final(text), finish: 'stop' };
    };
    const engine: EngineClient = {
      name: 'fake',
      capabilities: () => Promise.reject(new Error('not asked here')),
      generate: (request) => this.#generate(request),
      close: () => Promise.resolve(),
    };
    const encoder = new TokenEncoder(FORMAT.tokenizer);
    const counting = {
      encodeAll: (texts: readonly string[]) => {
        const ids = encoder.encodeAll(texts);
        if (!Array.isArray(ids)) throw new Error('texts of a test are short');
        for (const each of ids) this.encoded += each.length;
        return ids;
      },
    };
    this.#service = testTurnService({
      responses: this.responses,
      conversations: this.conversations,
      router: routerTo(engine),
      encoder: counting,
    });
  }

  /** A new conversation with these messages of the user. */
  async conversation(...texts: string[]): Promise<string> {
    const conversation: Conversation = { id: mintId('conversation'), createdAt: 0, metadata: {} };
    await this.conversations.create(TENANT, conversation, messages(texts));
    return conversation.id;
  }

  /** Adds messages of the user to a conversation. */
  async add(id: string, ...texts: string[]): Promise<void> {
    await this.conversations.append(TENANT, id, messages(texts));
  }

  /** Runs one turn to its end. */
  async run(body: Record<string, unknown>): Promise<TurnOutcome & { readonly frames: EventFrame[] }> {
    const frames: EventFrame[] = [];
    const outcome = await this.#service.run({
      request: parseRequest({ model: 'm', ...body }, 'http'),
      tenant: TENANT,
      key: 'key',
      sink: { send: (batch) => void frames.push(...batch), ready: () => undefined },
      signal: new AbortController().signal,
    });
    return { ...outcome, frames };
  }

  /** Starts a turn whose engine answers when it is told to. */
  async begin(body: Record<string, unknown>): Promise<{ end: () => Promise<TurnOutcome> }> {
    const usual = this.answer;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const asked = new Promise<void>((resolve) => {
      this.answer = async function* (text) {
        resolve();
        await released;
        yield* usual(text);
      };
    });
    const running = this.run(body);
    await Promise.race([asked, running]);
    this.answer = usual;
    return {
      end: () => {
        release();
        return running;
      },
    };
  }

  /** Texts of the items of a conversation, in their order. */
  async texts(id: string): Promise<string[]> {
    return (await this.items(id)).map((item) => (item.type === 'message' ? textOf(item) : item.type));
  }

  async items(id: string): Promise<readonly Item[]> {
    const page = await this.conversations.listItems(TENANT, id, {
      limit: 1_000,
      order: 'asc',
      after: undefined,
    });
    return page?.items ?? [];
  }

  async head(id: string): Promise<string | undefined> {
    return (await this.conversations.open(TENANT, id, 'head'))?.head;
  }

  /** Takes the item at an index out of a conversation. */
  async remove(id: string, index: number): Promise<void> {
    const item = (await this.items(id))[index];
    await this.conversations.removeItem(TENANT, id, item?.id ?? '');
  }

  async delete(id: string): Promise<void> {
    await this.conversations.delete(TENANT, id);
  }

  #generate({ prompt }: GenerateRequest): AsyncIterable<EngineChunk> {
    this.prompts.push(JSON.parse(Buffer.concat(prompt.json).toString()) as number[]);
    return this.answer(`answer ${this.prompts.length}`);
  }
}

/** An answer sampled letter by letter, as nothing would encode it. */
export function final(text: string): number[] {
  const letters = [...text].flatMap((letter) => [...FORMAT.tokenizer.encode(letter)]);
  return [200005, ...FORMAT.tokenizer.encode('final'), 200008, ...letters, 200002];
}

/** The same after some reasoning, which later turns do not see. */
export function thoughtful(text: string): number[] {
  const analysis = [200005, ...FORMAT.tokenizer.encode('analysis'), 200008, ...FORMAT.tokenizer.encode('hm')];
  return [...analysis, 200007, 200006, ...FORMAT.tokenizer.encode('assistant'), ...final(text)];
}

/** A call of the function `look`. */
export function call(): number[] {
  const header = FORMAT.tokenizer.encode('commentary to=functions.look ');
  return [
    200005,
    ...header,
    200003,
    ...FORMAT.tokenizer.encode('json'),
    200008,
    ...FORMAT.tokenizer.encode('{}'),
    200012,
  ];
}

function messages(texts: readonly string[]) {
  return joiningItems(
    texts.map((text) => ({
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    })),
  );
}

function textOf({ content }: Extract<Item, { type: 'message' }>): string {
  return content.map((part) => ('text' in part ? part.text : '')).join('');
}
