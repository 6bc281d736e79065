import { z } from 'zod';
import type { Category, ItemKind } from '../categories.js';
import type { ClassifierRequest, ClassifierStrategy } from '../classifier.js';
import type { Verdict } from '../verdict.js';
import { GuardHttp, GuardUnavailable, type GuardHttpOptions } from './guard-http.js';
import { passagesOf, type Passage } from './passages.js';

export interface Threshold {
  readonly flag: number;
  readonly block: number;
}

export interface ModerationsOptions extends GuardHttpOptions {
  readonly model?: string | undefined;
  readonly threshold: Threshold;
  /** Other thresholds for some kinds of items. */
  readonly thresholds: Readonly<Partial<Record<ItemKind, Threshold | undefined>>>;
  readonly window: number;
  readonly maxCharacters: number;
}

/** OpenAI's categories, by the beginning of their names. */
const CATEGORY_OF: readonly (readonly [prefix: string, category: Category])[] = [
  ['sexual/minors', 'child_sexual_exploitation'],
  ['sexual', 'sexual_content'],
  ['hate', 'hate'],
  ['harassment', 'hate'],
  ['self-harm', 'suicide_and_self_harm'],
  ['violence', 'violent_crimes'],
  ['illicit/violent', 'indiscriminate_weapons'],
  ['illicit', 'nonviolent_crimes'],
];

const answerSchema = z.object({
  results: z.array(z.object({ category_scores: z.record(z.string(), z.number()) })).min(1),
});

/** Texts of one request; OpenAI takes 32. */
const BATCH = 32;

/** Anything that speaks OpenAI's `/v1/moderations`. Scores decide, by thresholds of one's own; its `flagged` does not. */
export class ModerationsClassifier implements ClassifierStrategy {
  readonly name = 'moderations';
  readonly version: string;
  readonly #options: ModerationsOptions;
  readonly #http: GuardHttp;

  constructor(options: ModerationsOptions) {
    const { url, model, threshold, thresholds } = options;
    this.version = JSON.stringify([url, model, threshold, thresholds]);
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
    const batches = Array.from({ length: Math.ceil(passages.length / BATCH) }, (_, index) =>
      passages.slice(index * BATCH, (index + 1) * BATCH),
    );
    return Promise.all(batches.map((batch) => this.#ask(batch))).then(joined);
  }

  #ask(passages: readonly Passage[]): Promise<Verdict> {
    const { model } = this.#options;
    const input = passages.map(({ context, text }) => `${context}${text}`);
    const body = { ...(model !== undefined && { model }), input };
    return this.#http.post('/moderations', body, (answer) => {
      const read = answerSchema.safeParse(answer);
      if (!read.success || read.data.results.length !== passages.length) {
        throw new GuardUnavailable('The classifier did not answer for each text.');
      }
      const { results } = read.data;
      return joined(
        results.map(({ category_scores }, index) => this.#judge(category_scores, passages[index])),
      );
    });
  }

  #judge(scores: Readonly<Record<string, number>>, passage: Passage | undefined): Verdict {
    const { threshold, thresholds } = this.#options;
    const { flag, block } = (passage && thresholds[passage.kind]) ?? threshold;
    const over = Object.entries(scores).filter(([, score]) => score >= Math.min(flag, block));
    const action = over.some(([, score]) => score >= block) ? 'block' : over.length > 0 ? 'flag' : 'pass';
    return { action, categories: over.map(([name]) => categoryOf(name)) };
  }
}

/** A category of another vocabulary is not lost: it counts as the nearest thing to "something illegal". */
function categoryOf(name: string): Category {
  return CATEGORY_OF.find(([prefix]) => name.startsWith(prefix))?.[1] ?? 'nonviolent_crimes';
}

/** The strictest of several verdicts, with the categories of all. */
export function joined(verdicts: readonly Verdict[]): Verdict {
  const has = (action: Verdict['action']) => verdicts.some((verdict) => verdict.action === action);
  const action = has('block') ? 'block' : has('flag') ? 'flag' : 'pass';
  return { action, categories: [...new Set(verdicts.flatMap(({ categories }) => categories))].sort() };
}
