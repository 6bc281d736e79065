import type { Fields } from './read-values.js';

/**
 * Fields that a server may refuse, and what the request says instead. Hosted models want `max_completion_tokens`, most others
 * know `max_tokens` alone.
 */
const OPTIONAL: Readonly<Record<string, string | undefined>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: undefined,
  max_output_tokens: undefined,
  stream_options: undefined,
  parallel_tool_calls: undefined,
  reasoning_effort: undefined,
  reasoning: undefined,
  temperature: undefined,
  top_p: undefined,
  include: undefined,
  prompt_cache_key: undefined,
};

/** How servers word that they do not take a field. */
const REFUSAL = /not supported|unsupported|unknown|unrecognized|unexpected|extra|not permitted|invalid/i;

/** Remembers which optional fields the models of a server refuse. */
export class OptionalFields {
  /** Refused fields by model. */
  readonly #refused = new Map<unknown, ReadonlySet<string>>();

  /** Fields that this model is known to refuse. */
  refusedBy(model: unknown): ReadonlySet<string> {
    return this.#refused.get(model) ?? new Set();
  }

  /** What a request without these fields was answered to: from now on they are left out. */
  remember(model: unknown, refused: ReadonlySet<string>): void {
    if (refused.size > 0) this.#refused.set(model, refused);
  }
}

/** The settings without what is refused. */
export function withoutRefused(settings: Fields, refused: ReadonlySet<string>): Fields {
  if (refused.size === 0) return settings;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(settings)) {
    const field = refused.has(name) ? OPTIONAL[name] : name;
    if (field !== undefined && !refused.has(field)) fields[field] = value;
  }
  return fields;
}

/** The optional field of a request that the text of a 400 says is in the way; undefined when it says something else. */
export function refusedField(sent: Fields, text: string): string | undefined {
  if (!REFUSAL.test(text)) return undefined;
  return Object.keys(OPTIONAL).find(
    (name) => sent[name] !== undefined && new RegExp(`\\b${name}\\b`).test(text),
  );
}
