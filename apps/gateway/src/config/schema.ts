import { DIALOG_FAMILIES } from '@turnpike/formats';
import { SCOPES } from '@turnpike/access';
import { ENGINE_KINDS } from '@turnpike/inference';
import { rowAmount, scaled } from '@turnpike/metering';
import { z } from 'zod';
import { classifier } from './classifier-schema.js';

const MIB = 1024 * 1024;

/** A token of RFC 9110, section 5.6.2. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header');

export const engineSchema = z.strictObject({
  /** Base URL of the server, without `/v1`. */
  url: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine((url) => !/\/v1\/*$/.test(url), 'must not end in /v1, which is added'),
  /** What it is, and so which API it is spoken to in; `auto` asks it. */
  kind: z.enum(ENGINE_KINDS).default('auto'),
  /** Name of the environment variable that holds its key, which is sent as a bearer token. */
  apiKeyEnv: z.string().min(1).optional(),
  /** Headers of every request to it. */
  headers: z.record(headerName, z.string()).default({}),
  /** Longest silence of the engine before a request is given up, in ms. */
  idleTimeoutMs: z.int().min(1_000).default(600_000),
  /** Whether the engine binds the answer to the schema of `text.format`, where it can. */
  structuredOutputs: z.boolean().default(true),
  /** `content_parts`: the engine takes images beside token ids, as the built-in one and vLLM's generate route do. */
  images: z.enum(['none', 'content_parts']).default('none'),
  /** Whether models that the engine lists and `models` does not name are offered too. */
  offersListed: z.boolean().default(true),
});

/** Whether the engine scales images by their `detail`; if not, that makes no image cheaper. */
const detail = z.boolean().default(false);

/** What an image costs, in tokens: see docs/configuration.md. */
const imageRule = z.discriminatedUnion('tokens', [
  z.strictObject({
    tokens: z.literal('tiles'),
    base: z.int().min(0).default(85),
    tile: z.int().min(0).default(170),
    detail,
  }),
  z.strictObject({
    tokens: z.literal('patches'),
    /** Pixels of a patch's side. */
    patch: z.int().min(1).max(1024).default(32),
    maxPatches: z.int().min(1).default(1536),
    multiplier: z.number().positive().default(1),
    detail,
  }),
  z.strictObject({ tokens: z.literal('fixed'), each: z.int().min(1) }),
]);

const MAX_WEIGHT = 1_000;

/** One of several engines that serve a model. */
const replica = z.strictObject({
  name: z.string(),
  /** This engine's own name for the model; by default the model's `engineModel`. */
  engineModel: z.string().min(1).optional(),
  /** Its share of the conversations beside those of the others. */
  weight: z.number().positive().max(MAX_WEIGHT).default(1),
});

export const modelSchema = z.strictObject({
  /** Name of the engine that serves it, or of each that does. */
  engine: z.union([z.string(), z.array(z.union([z.string(), replica])).min(1)], {
    error: 'must be the name of an engine, or a list of names or of { name, engineModel, weight }',
  }),
  /** The engine's own name for the model; by default the same. */
  engineModel: z.string().optional(),
  /** Other names that clients may use. */
  aliases: z.array(z.string().min(1)).default([]),
  /** What stands in while no engine of the model is well, in this order: another model, or this one at another engine. */
  fallbacks: z
    .array(
      z.union(
        [z.string(), z.strictObject({ engine: z.string(), engineModel: z.string().min(1).optional() })],
        {
          error: 'must be the name of a model, or { engine, engineModel }',
        },
      ),
    )
    .default([]),
  /** How the model is written and read: see docs/formats.md; `chat` and `responses` for servers that take messages. */
  format: z.enum(['harmony', ...DIALOG_FAMILIES, 'jinja', 'chat', 'responses']).default('harmony'),
  /** The model's tokenizer.json, or its GGUF file; relative to the working directory. */
  tokenizer: z.string().min(1).optional(),
  /** Of `jinja`: the file of the model's chat template, or the tokenizer_config.json that has it. */
  template: z.string().min(1).optional(),
  /** Most tokens of prompt and output together. */
  contextTokens: z.int().min(1).default(131_072),
  /** Only of models that take images: what one costs. */
  images: imageRule.optional(),
});

/** `host` or `host:port`, as in a URL. */
const host = z.string().refine((text) => {
  const url = `http://${text}/`;
  return URL.canParse(url) && new URL(url).href === `http://${new URL(url).host}/`;
}, 'must be a host, or host:port');

/** Where Prometheus reads `/metrics`. They tell of all tenants together, so the port is not the API's. */
const metrics = z.strictObject({
  /** Off unless given; METRICS_PORT in the environment overrides it. */
  port: z.int().min(0).max(65_535).optional(),
  host: z.string().default('127.0.0.1'),
});

/** How images get in. Those in data: URLs always do. */
const images = z.strictObject({
  /** Whether http and https URLs are fetched, from public addresses. Off: what is not needed cannot be misused. */
  fetch: z.boolean().default(false),
  /** Bytes that the images of one request may have together. */
  maxBytes: z
    .int()
    .min(1024)
    .default(50 * MIB),
  /** How long one image may take to be fetched, in ms. */
  timeoutMs: z.int().min(100).max(120_000).default(10_000),
  /** Hosts of your own that are fetched from although their addresses are not public; with a port where it is another. */
  allowHosts: z.array(host).default([]),
});

/** A port that is looked at, or none. */
const port = (standard: number) => z.union([z.int().min(1).max(65_535), z.literal(false)]).default(standard);

/** Ports of this machine where inference servers are looked for when none is configured. Each server's own default. */
const discovery = z.strictObject({
  vllm: port(8000),
  sglang: port(30_000),
  llamaServer: port(8080),
  ollama: port(11_434),
  lmStudio: port(1234),
});

const key = z.strictObject({
  name: z.string().min(1),
  /** SHA-256 of the key in hexadecimal: `printf %s "$KEY" | sha256sum`. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits'),
  tenant: z.string().min(1),
  /** What it may do; see docs/admin-api.md. */
  scopes: z.array(z.enum(SCOPES)).min(1).default(['inference']),
});

/** Where `store: true` responses and conversations are kept. DATABASE_URL in the environment chooses `postgres`. */
const store = z.strictObject({
  /** `memory`: within `limits.storeBytes`, and nothing survives a restart. */
  kind: z.enum(['sqlite', 'postgres', 'memory']).default('sqlite'),
  /** Of `sqlite`: the file, relative to the working directory. */
  path: z.string().min(1).default('data/turnpike.db'),
  /** Of `postgres`. */
  url: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be a postgres URL: postgres://user:password@host/database',
    })
    .optional(),
  /**
   * Of `postgres`: folder for responses that are completed while the database is down, relative to the working directory.
   * Gateways of one machine may share it.
   */
  spool: z.string().min(1).default('data/spool'),
  /** Bytes of them, on the disk and in memory, from which on a response waits for the database again. */
  spoolBytes: z
    .int()
    .min(MIB)
    .default(256 * MIB),
  /** Days after which a response is deleted. OpenAI keeps its own for 30. */
  retentionDays: z.number().positive().max(36_500).default(30),
});

/** What input, and output, is held against: see docs/safety.md. */
const safety = z.strictObject({
  /**
   * `gate`: nothing reaches an engine before its verdict is there. `race`: inference starts beside a classifier, and its
   * output waits for the verdict.
   */
  input: z.enum(['off', 'gate', 'race']).default('gate'),
  /** Whether what models write is looked through before it is shown. */
  output: z.enum(['off', 'on']).default('off'),
  /** Rule packs: `default` for the one that comes with the server, or files. */
  packs: z.array(z.string().min(1)).default(['default']),
  /** Asked about what the rules let through; by default nobody is. */
  classifier: classifier.optional(),
  /** What happens when the classifier does not answer: `closed` refuses, `open` goes on and says so. */
  failure: z.enum(['closed', 'open']).default('closed'),
  /** Decisions that are logged: those that are worth a look, or all. */
  audit: z.enum(['off', 'findings', 'all']).default('findings'),
  /** Whether the log shows what was decided about; never of responses with `store: false`. */
  auditText: z.boolean().default(false),
});

/** What a tenant, one of its keys or its use of a model may cost. Keys and budgets in SQL stand beside these. */
const budget = z
  .strictObject({
    tenant: z.string().min(1),
    key: z.string().min(1).optional(),
    model: z.string().min(1).optional(),
    /** Days and months are those of UTC. */
    period: z.enum(['day', 'month', 'total']),
    /** Dollars, with up to nine digits behind the point. */
    usd: z.union([z.string(), z.number()]).transform((value, context) => {
      try {
        return rowAmount(scaled(value));
      } catch (thrown) {
        context.addIssue({ code: 'custom', message: (thrown as Error).message });
        return z.NEVER;
      }
    }),
    /** Only says when it would have refused. */
    shadow: z.boolean().default(false),
  })
  .refine(({ key, model }) => key === undefined || model === undefined, 'is for a key or for a model');

/** What turns used, what it costs, and how that gets to the ledger: docs/billing.md. */
const billing = z.strictObject({
  /** Folder of the journals, relative to the working directory. Gateways of one machine may share it. */
  journal: z.string().min(1).default('data/journal'),
  /** Bytes of the journal from which on no turn is taken, until the ledger has what is in it. */
  journalBytes: z
    .int()
    .min(MIB)
    .default(256 * MIB),
  /** Tokens of output between two notes of how far a turn has come: what a crash can leave unbilled of one. */
  progressTokens: z.int().min(1).default(128),
  /** File of the price book; without one the built-in model is free, and others have no price. */
  prices: z.string().min(1).optional(),
  /** Tokens of output held at a time for a request that names no max_output_tokens, where there is a budget. */
  holdOutputTokens: z.int().min(16).default(4_096),
  budgets: z.array(budget).default([]),
  /**
   * Redis with the queue in front of the ledger, which apps/billing reads; without one the gateway books by itself.
   * REDIS_URL in the environment overrides it.
   */
  redis: z.url({ protocol: /^rediss?$/, error: 'must be a redis URL: redis://host:6379' }).optional(),
});

/** Limits of the server, each with its reason, on one screen. */
const limits = z.strictObject({
  /** Bytes of one WebSocket message; Codex and others fall back to HTTP above 16 MiB. */
  frameBytes: z
    .int()
    .min(1024)
    .default(16 * MIB),
  /** Bytes of WebSocket messages that have not arrived whole, over all connections. */
  incompleteBytes: z
    .int()
    .min(1024)
    .default(1024 * MIB),
  /** Bytes of an HTTP body; more than a frame, so that a refused frame can be sent here. */
  bodyBytes: z
    .int()
    .min(1024)
    .default(64 * MIB),
  /** WebSocket connections at once. */
  connections: z.int().min(1).default(10_000),
  /** WebSocket connections of one key at once. */
  connectionsPerKey: z.int().min(1).default(1_000),
  /**
   * Bytes of tools and instructions that lifecycle events repeat; longer ones are left out. A Python client refuses
   * messages over 1 MiB (websockets' default), and a terminal event holds the output as well.
   */
  echoBytes: z
    .int()
    .min(0)
    .default(256 * 1024),
  /** Bytes of requests that may wait for their lanes on one connection. */
  queuedBytes: z
    .int()
    .min(0)
    .default(64 * MIB),
  /** Bytes of conversation that one connection may keep in memory. */
  connectionCacheBytes: z
    .int()
    .min(0)
    .default(64 * MIB),
  /** How long the responses of a lost connection can be continued on a new one, in ms; 0 switches this off. */
  resumeMs: z.int().min(0).max(3_600_000).default(30_000),
  /** Bytes of conversation that lost connections may keep together. */
  resumeBytes: z
    .int()
    .min(0)
    .default(256 * MIB),
  /** Bytes of conversation kept to recognise one that is sent whole, in memory only; 0 switches this off. */
  replayBytes: z
    .int()
    .min(0)
    .default(256 * MIB),
  /** How long a WebSocket may live, in ms. Source: OpenAI's 60 minutes. */
  connectionMs: z
    .int()
    .min(1_000)
    .default(60 * 60_000),
  /** Bytes that `store: true` responses may keep in memory; with `kind: memory` conversations may keep as many again. */
  storeBytes: z
    .int()
    .min(0)
    .default(512 * MIB),
  /** Background responses that this gateway makes at once. */
  backgroundRunning: z.int().min(1).default(16),
  /** Background responses of one tenant that may wait, over all gateways of a database. */
  backgroundQueued: z.int().min(1).default(1_000),
  /** Bytes of events kept of one background response; a longer one cannot be streamed again. */
  backgroundEventBytes: z
    .int()
    .min(1024)
    .default(32 * MIB),
  /** Bytes a slow reader may leave unread before reading from the engine pauses. */
  sendBufferBytes: z
    .int()
    .min(1024)
    .default(1 * MIB),
  /** How long a reader may stay that slow, or leave the rest of an answer unread, before it is disconnected, in ms. */
  sendTimeoutMs: z.int().min(100).default(30_000),
  /** Silence of a running response after which a sign of life is sent, in ms; proxies cut at 60 s. */
  keepAliveMs: z.int().min(100).default(20_000),
  /** How long running turns may take to finish once the server is told to stop, in ms. */
  drainMs: z.int().min(0).default(30_000),
});

/** The configuration file. A key that is not listed here is an error at start. */
export const configSchema = z.strictObject({
  host: z.string().default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(8686),
  /** False answers upgrades with 426, which makes agents use HTTP. */
  websocket: z.boolean().default(true),
  /** Beside those of the database. Without any the server is open, and binds to loopback only. */
  keys: z.array(key).default([]),
  /** File of the keys that seal what clients carry (`encrypted_content`); made at the first start. */
  sealingKeyFile: z.string().default('data/sealing.key'),
  /** Origins of web pages that may use the server; requests without an Origin are not from a page. */
  allowedOrigins: z.array(z.string()).default([]),
  engines: z.record(z.string(), engineSchema).default({}),
  models: z.record(z.string(), modelSchema).default({}),
  /** Only without engines and models; false looks for nothing. */
  discovery: z.union([z.literal(false), discovery]).prefault({}),
  store: store.prefault({}),
  images: images.prefault({}),
  safety: safety.prefault({}),
  metrics: metrics.prefault({}),
  billing: billing.prefault({}),
  limits: limits.prefault({}),
  log: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

export type Config = z.output<typeof configSchema>;
export type StoreConfig = Config['store'];
export type SafetyConfig = Config['safety'];
export type Limits = Config['limits'];
export type ModelConfig = Config['models'][string];
export type EngineConfig = Config['engines'][string];
export type Discovery = z.output<typeof discovery>;

/** The engines that serve a model, each with the name that it has there. */
export function replicasOf(name: string, { engine, engineModel = name }: ModelConfig) {
  const entries = typeof engine === 'string' ? [engine] : engine;
  return entries.map((entry) =>
    typeof entry === 'string'
      ? { engine: entry, engineModel, weight: 1 }
      : { engine: entry.name, engineModel: entry.engineModel ?? engineModel, weight: entry.weight },
  );
}
