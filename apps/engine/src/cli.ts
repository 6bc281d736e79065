import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { MARKERS, parseScript } from './model/markers.js';
import {
  DEFAULT_GGUF_SETTINGS,
  DEFAULT_SETTINGS,
  type EngineSettings,
  type GgufSettings,
} from './settings.js';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'simulated'; readonly settings: EngineSettings }
  | { readonly kind: 'gguf'; readonly settings: GgufSettings }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

/** A mistake on the command line. */
export class UsageError extends Error {}

interface Flag {
  /** As typed, without the dashes. */
  readonly flag: string;
  readonly setting: keyof EngineSettings | keyof GgufSettings;
  /** What the value is, for the help. */
  readonly value: string;
  readonly meaning: string;
  /** @throws UsageError */
  readonly read: (text: string, flag: string) => string | number;
  /** The only kind of model it is for; left out, both. */
  readonly only?: 'simulated' | 'gguf';
}

const FLAGS: readonly Flag[] = [
  {
    flag: 'gguf',
    setting: 'gguf',
    value: 'FILE',
    meaning: 'serves the model in this file, with llama.cpp',
    read: text,
    only: 'gguf',
  },
  { flag: 'host', setting: 'host', value: 'ADDRESS', meaning: 'address to listen on', read: text },
  {
    flag: 'port',
    setting: 'port',
    value: 'N',
    meaning: 'port to listen on, 0 for any free one',
    read: integer(0, 65_535),
  },
  { flag: 'model', setting: 'model', value: 'NAME', meaning: 'name of the model served', read: text },
  {
    flag: 'tps',
    setting: 'tps',
    value: 'N',
    meaning: 'tokens a second, for each request',
    read: decimal(0.01, 1_000_000),
    only: 'simulated',
  },
  {
    flag: 'ttft-ms',
    setting: 'ttftMs',
    value: 'MS',
    meaning: 'time to first token, without prefill',
    read: decimal(0, 600_000),
    only: 'simulated',
  },
  {
    flag: 'prefill-us-per-token',
    setting: 'prefillUsPerToken',
    value: 'US',
    meaning: 'microseconds for each prompt token not cached',
    read: decimal(0, 1_000_000),
    only: 'simulated',
  },
  {
    flag: 'context',
    setting: 'context',
    value: 'N',
    meaning: 'longest prompt plus output, in tokens',
    read: integer(1, 8_000_000),
  },
  {
    flag: 'slots',
    setting: 'slots',
    value: 'N',
    meaning: 'sequences kept by the prefix cache; with --gguf also those generated at once',
    read: integer(1, 4096),
  },
  {
    flag: 'threads',
    setting: 'threads',
    value: 'N',
    meaning: 'threads that compute',
    read: integer(1, 1024),
    only: 'gguf',
  },
  {
    flag: 'script',
    setting: 'script',
    value: '"KEY=VALUE ..."',
    meaning: 'markers for every request, see below',
    read: script,
    only: 'simulated',
  },
];

/** @throws UsageError that names the flag at fault */
export function parseCommand(argv: readonly string[]): Command {
  const values = readFlags(argv);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const kind = values.gguf === undefined ? 'simulated' : 'gguf';
  const given = FLAGS.flatMap(({ flag, setting, read, only = kind }) => {
    const typed = values[flag];
    if (typeof typed !== 'string') return [];
    if (only !== kind) {
      throw new UsageError(
        `--${flag} is for ${only === 'gguf' ? 'models of --gguf' : 'the simulated model'} only`,
      );
    }
    return [[setting, read(typed, flag)]];
  });
  const { gguf, ...others } = Object.fromEntries(given) as Partial<EngineSettings & GgufSettings>;
  if (gguf === undefined) return { kind: 'simulated', settings: { ...DEFAULT_SETTINGS, ...others } };
  const model = basename(gguf, '.gguf');
  return { kind: 'gguf', settings: { ...DEFAULT_GGUF_SETTINGS, model, ...others, gguf } };
}

/** The text of `--help`. */
export function helpText(): string {
  const rows = FLAGS.map(
    ({ flag, setting, value, meaning, only }) =>
      [`--${flag} ${value}`, `${meaning} (default ${presets(setting, only)})`] as const,
  );
  const all = [
    ...rows,
    ['--help', 'print this and end'] as const,
    ['--version', 'print the version and end'] as const,
  ];
  return [
    'Usage: engine [flags]',
    '',
    'An inference server with a simulated model that speaks Harmony, or with a real one from a GGUF file:',
    "token ids in, token ids out, over the HTTP of vLLM's /v1/completions.",
    '',
    'Flags:',
    ...columns(all),
    '',
    'Markers, in a user message as [sim key=value ...] or for every request in --script:',
    ...columns(MARKERS.map(({ key, value, meaning }) => [`${key}=${value}`, meaning] as const)),
    '',
  ].join('\n');
}

/** What a setting is without its flag, as text. */
function presets(setting: Flag['setting'], only: Flag['only']): string {
  const simulated = new Map<string, string | number>(Object.entries(DEFAULT_SETTINGS)).get(setting);
  const gguf = GGUF_PRESETS[setting];
  if (only === 'gguf') return gguf ?? 'none';
  if (only === 'simulated' || gguf === undefined) return simulated === '' ? 'none' : String(simulated);
  return `${simulated}; with --gguf ${gguf}`;
}

/** Where they differ from those of the simulated model. */
const GGUF_PRESETS: Partial<Record<Flag['setting'], string>> = {
  model: 'the name of the file',
  context: '4096, or less where the model was trained with less',
  slots: String(DEFAULT_GGUF_SETTINGS.slots),
  threads: 'half of the cores that the machine shows',
};

function readFlags(argv: readonly string[]): Record<string, string | boolean | undefined> {
  const options = Object.fromEntries(FLAGS.map(({ flag }) => [flag, { type: 'string' as const }]));
  try {
    return parseArgs({
      args: [...argv],
      options: { ...options, help: { type: 'boolean' }, version: { type: 'boolean' } },
    }).values;
  } catch (error) {
    // The messages of parseArgs name the flag; what follows the first sentence is about the shell.
    const [message = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw new UsageError(message);
  }
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

function text(value: string, flag: string): string {
  if (value === '') throw new UsageError(`--${flag} must not be empty`);
  return value;
}

function integer(least: number, most: number): Flag['read'] {
  return (value, flag) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    throw new UsageError(`--${flag} must be a whole number from ${least} to ${most}, not "${value}"`);
  };
}

function decimal(least: number, most: number): Flag['read'] {
  return (value, flag) => {
    const number = Number(value);
    if (/^\d+(\.\d+)?$/.test(value) && number >= least && number <= most) return number;
    throw new UsageError(`--${flag} must be a number from ${least} to ${most}, not "${value}"`);
  };
}

function script(value: string, flag: string): string {
  const { complaints } = parseScript(value);
  if (complaints.length > 0) throw new UsageError(`--${flag}: ${complaints.join('; ')}`);
  return value;
}
