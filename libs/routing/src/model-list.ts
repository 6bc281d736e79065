/** A model as an engine lists it at `/v1/models`. */
export interface ListedModel {
  readonly id: string;
  /** Most tokens of prompt and output together, where the engine says so: more than that it refuses. */
  readonly contextTokens?: number | undefined;
  /** How long the prompts were that it was trained with. An engine may be started with less, and with more. */
  readonly trainedTokens?: number | undefined;
  /** Who serves it: vLLM, SGLang, llama-server and Ollama each have a word of their own here. */
  readonly ownedBy?: string | undefined;
}

/** More than an engine serves, and fewer than could fill the memory. */
const MAX_MODELS = 1_000;
/** A name without blanks and control characters: it is shown on terminals, and asked for in paths. */
const ID = /^[^\s\p{C}]{1,256}$/u;

/** Models that write nothing: embeddings and rerankers, which Ollama and LM Studio list among the others. */
const WRITES_NOTHING = /embed|rerank/i;

/** What an engine lists; undefined when that is no list of models. Entries that make no sense are passed over. */
export function listedModels(body: unknown): ListedModel[] | undefined {
  const { object, data } = fieldsOf(body) ?? {};
  // Ollama without any models.
  if (object === 'list' && data === null) return [];
  if (!Array.isArray(data)) return undefined;
  return data
    .slice(0, MAX_MODELS)
    .flatMap((entry) => listedModel(entry) ?? [])
    .filter(({ id }) => !WRITES_NOTHING.test(id));
}

function listedModel(entry: unknown): ListedModel | undefined {
  const { id, owned_by: ownedBy, max_model_len: length, meta } = fieldsOf(entry) ?? {};
  if (typeof id !== 'string' || !ID.test(id)) return undefined;
  return {
    id,
    // llama-server has what it was started with only in newer versions.
    contextTokens: firstCount(length, fieldsOf(meta)?.['n_ctx']),
    trainedTokens: firstCount(fieldsOf(meta)?.['n_ctx_train']),
    ownedBy: typeof ownedBy === 'string' ? ownedBy : undefined,
  };
}

function firstCount(...values: readonly unknown[]): number | undefined {
  return values.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0);
}

function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}
