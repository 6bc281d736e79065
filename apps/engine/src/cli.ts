import { parseArgs } from 'node:util';
import { MARKERS, parseScript } from './model/markers.js';
import { DEFAULT_SETTINGS, type EngineSettings } from './settings.js';

/** What the command line asks for. */
export type Command =
  | { readonly kind: 'serve'; readonly settings: EngineSettings }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

/** A mistake on the command line. */
export class UsageError extends Error {}

interface Flag {
  /** As typed, without the dashes. */
  readonly flag: string;
  readonly setting: keyof EngineSettings;
  /** What the value is, for the help. */
  readonly value: string;
  readonly meaning: string;
  /** @throws UsageError */
  readonly read: (text: string, flag: string) => string | number;
}

const FLAGS: readonly Flag[] = [
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
  },
  {
    flag: 'ttft-ms',
    setting: 'ttftMs',
    value: 'MS',
    meaning: 'time to first token, without prefill',
    read: decimal(0, 600_000),
  },
  {
    flag: 'prefill-us-per-token',
    setting: 'prefillUsPerToken',
    value: 'US',
    meaning: 'microseconds for each prompt token not cached',
    read: decimal(0, 1_000_000),
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
    meaning: 'sequences kept by the prefix cache',
    read: integer(1, 4096),
  },
  {
    flag: 'script',
    setting: 'script',
    value: '"KEY=VALUE ..."',
    meaning: 'markers for every request, see below',
    read: script,
  },
];

/** @throws UsageError that names the flag at fault */
export function parseCommand(argv: readonly string[]): Command {
  const values = readFlags(argv);
  if (values.help) return { kind: 'help' };
  if (values.version) return { kind: 'version' };
  const given = FLAGS.flatMap(({ flag, setting, read }) => {
    const typed = values[flag];
    return typeof typed === 'string' ? [[setting, read(typed, flag)]] : [];
  });
  return {
    kind: 'serve',
    settings: { ...DEFAULT_SETTINGS, ...(Object.fromEntries(given) as Partial<EngineSettings>) },
  };
}

/** The text of `--help`. */
export function helpText(): string {
  const rows = FLAGS.map(({ flag, setting, value, meaning }) => {
    const preset = DEFAULT_SETTINGS[setting];
    return [`--${flag} ${value}`, `${meaning} (default ${preset === '' ? 'none' : preset})`] as const;
  });
  const all = [
    ...rows,
    ['--help', 'print this and end'] as const,
    ['--version', 'print the version and end'] as const,
  ];
  return [
    'Usage: engine [flags]',
    '',
    'An inference server with a simulated model that speaks Harmony: token ids in, token ids out,',
    "over the HTTP of vLLM's /v1/completions.",
    '',
    'Flags:',
    ...columns(all),
    '',
    'Markers, in a user message as [sim key=value ...] or for every request in --script:',
    ...columns(MARKERS.map(({ key, value, meaning }) => [`${key}=${value}`, meaning] as const)),
    '',
  ].join('\n');
}

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
