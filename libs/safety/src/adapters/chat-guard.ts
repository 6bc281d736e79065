import { z } from 'zod';
import type { Category } from '../categories.js';
import type { ClassifierRequest, ClassifierStrategy } from '../classifier.js';
import type { Verdict } from '../verdict.js';
import { GuardHttp, GuardUnavailable, type GuardHttpOptions } from './guard-http.js';
import { joined } from './moderations.js';
import { passagesOf, type Passage } from './passages.js';

/** How one family of guards is asked, and what it may answer. */
export interface GuardDialect {
  readonly name: string;
  readonly version: string;
  /** Messages and settings of a request, beside model and limits. */
  ask(passage: Passage): Readonly<Record<string, unknown>>;
  /** What an answer says; undefined for one that is not a verdict. */
  read(answer: string): { readonly unsafe: boolean; readonly categories: readonly Category[] } | undefined;
}

export interface ChatGuardOptions extends GuardHttpOptions {
  readonly model: string;
  readonly dialect: GuardDialect;
  /** Categories that are flagged only. */
  readonly flagOnly: readonly Category[];
  readonly window: number;
  readonly maxCharacters: number;
}

const answerSchema = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1),
});

/** Answers to one question that are tried before there is none. */
const TRIES = 2;

/**
 * A guard that is a chat model. Its answer is bound to a verdict where the server can do that, and read strictly wherever:
 * what is not a verdict is asked for once more, and is then no answer. What is judged goes in as the content of a message, as
 * data; it can neither end that message nor begin another.
 */
export class ChatGuard implements ClassifierStrategy {
  readonly name: string;
  readonly version: string;
  readonly #options: ChatGuardOptions;
  readonly #http: GuardHttp;

  constructor(options: ChatGuardOptions) {
    const { url, model, dialect, flagOnly } = options;
    this.name = dialect.name;
    this.version = JSON.stringify([url, model, dialect.version, flagOnly]);
    this.#options = options;
    this.#http = new GuardHttp(options);
  }

  get available(): boolean {
    return this.#http.available;
  }

  /** @throws GuardUnavailable */
  classify(request: ClassifierRequest): Promise<Verdict> {
    const { maxCharacters, window } = this.#options;
    const passages = passagesOf(request, maxCharacters, window);
    return Promise.all(passages.map((passage) => this.#judge(passage, this.#ask(passage)))).then(joined);
  }

  async #judge(passage: Passage, first: Promise<string>): Promise<Verdict> {
    const { dialect, flagOnly } = this.#options;
    for (let tries = 1; ; tries += 1) {
      const verdict = dialect.read(await (tries === 1 ? first : this.#ask(passage)));
      if (verdict !== undefined) {
        const { unsafe, categories } = verdict;
        if (!unsafe) return { action: 'pass', categories: [] };
        const blocks = categories.length === 0 || categories.some((category) => !flagOnly.includes(category));
        return { action: blocks ? 'block' : 'flag', categories };
      }
      if (tries === TRIES) throw new GuardUnavailable('The classifier did not give a verdict.');
    }
  }

  #ask(passage: Passage): Promise<string> {
    const { model, dialect } = this.#options;
    const body = { model, temperature: 0, stream: false, ...dialect.ask(passage) };
    return this.#http.post('/chat/completions', body, (answer) => {
      const read = answerSchema.safeParse(answer);
      if (!read.success) throw new GuardUnavailable('The classifier did not answer like a chat model.');
      return read.data.choices[0]?.message.content ?? '';
    });
  }
}
