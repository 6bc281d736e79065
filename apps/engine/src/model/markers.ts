/** What a marker may ask of the model. */
export interface Script {
  calls?: number;
  parallel?: number;
  tool?: string;
  custom?: string;
  unasked?: string;
  form?: CallForm;
  commentary?: boolean;
  tokens?: number;
  reason?: number;
  emoji?: boolean;
  badjson?: boolean;
  empty?: boolean;
  limit?: boolean;
  broken?: Breakage;
  stall?: number;
  die?: number;
  error?: number;
  status?: number;
}

/** Where a call names its recipient: with the role, as history is rendered, or with the channel. */
export type CallForm = 'role' | 'channel';

/** Ways of writing Harmony wrongly that models have shown. */
export type Breakage = 'header' | 'stray' | 'nomessage' | 'noend';

type Reader = (value: string, script: Script) => boolean;

interface Marker {
  readonly key: string;
  /** What stands after the `=`, for people. */
  readonly value: string;
  readonly meaning: string;
  /** Writes the value into the script; false when it is not one. */
  readonly read: Reader;
}

/** Every marker there is. The table in README.md says the same. */
export const MARKERS: readonly Marker[] = [
  marker('calls', 'N', 'tool calls before the answer of this user turn', count('calls')),
  marker('parallel', 'N', 'calls made in one output', count('parallel', 1)),
  marker('tool', 'NAME', 'calls this function tool', name('tool')),
  marker('custom', 'NAME', 'calls this custom (free-text) tool', name('custom')),
  marker('unasked', 'NAME', 'calls a function of this name, offered or not', name('unasked')),
  marker(
    'call-form',
    'role|channel',
    'where a call names its recipient',
    choice('form', ['role', 'channel']),
  ),
  marker('commentary', '0|1', 'a commentary message before the calls', flag('commentary')),
  marker('tokens', 'N', 'pads the answer to about N tokens', count('tokens')),
  marker('reason', 'N', 'an analysis of N tokens; 0 for none', count('reason')),
  marker('emoji', '0|1', 'an answer whose tokens split characters', flag('emoji')),
  marker('badjson', '0|1', 'an answer that breaks off inside its JSON', flag('badjson')),
  marker('empty', '0|1', 'only a final message, without text', flag('empty')),
  marker('limit', '0|1', 'a final message that ends at max_tokens only', flag('limit')),
  marker(
    'broken',
    'header|stray|nomessage|noend',
    'malformed Harmony',
    choice('broken', ['header', 'stray', 'nomessage', 'noend']),
  ),
  marker('stall', 'MS', 'a pause of MS milliseconds after 5 tokens', count('stall')),
  marker('die', 'N', 'the connection is cut after N tokens', count('die')),
  marker('error', 'N', 'an error object in the stream after N tokens', count('error')),
  marker('status', '400..599', 'an HTTP error instead of an answer', count('status', 400, 599)),
];

/** A script that has been read. `complaints` are for the reader of the answer: a typo shows. */
export interface ScriptReading {
  readonly script: Script;
  readonly complaints: readonly string[];
}

/** Reads "key=value key2=value2". */
export function parseScript(text: string): ScriptReading {
  const script: Script = {};
  const complaints: string[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const [key = '', ...rest] = word.split('=');
    const value = rest.join('=');
    const known = MARKERS.find((candidate) => candidate.key === key);
    if (!known) complaints.push(`unknown sim key: ${key}`);
    else if (!known.read(value, script))
      complaints.push(`sim key ${key} wants ${known.value}, not "${value}"`);
  }
  return { script, complaints };
}

const IN_MESSAGE = /\[sim\s([^\]]*)\]/g;

/** Reads the markers of a message, `[sim key=value ...]`, and what it says without them. */
export function readMarkers(message: string): ScriptReading & { readonly text: string } {
  const written = [...message.matchAll(IN_MESSAGE)].map((match) => match[1] ?? '').join(' ');
  return { ...parseScript(written), text: message.replace(IN_MESSAGE, '').trim() };
}

function marker(key: string, value: string, meaning: string, read: Reader): Marker {
  return { key, value, meaning, read };
}

/** Keys of the script whose value is a T. */
type KeyOf<T> = { [K in keyof Script]-?: T extends Script[K] ? K : never }[keyof Script];

function count(key: KeyOf<number>, least = 0, most = 10_000_000): Reader {
  return (value, script) => {
    if (!/^\d{1,8}$/.test(value) || Number(value) < least || Number(value) > most) return false;
    script[key] = Number(value);
    return true;
  };
}

function flag(key: KeyOf<boolean>): Reader {
  return (value, script) => {
    if (value !== '0' && value !== '1') return false;
    script[key] = value === '1';
    return true;
  };
}

function name(key: 'tool' | 'custom' | 'unasked'): Reader {
  return (value, script) => {
    if (value === '') return false;
    script[key] = value;
    return true;
  };
}

function choice<K extends 'form' | 'broken'>(key: K, values: readonly (Script[K] & string)[]): Reader {
  return (value, script) => {
    const known = values.find((candidate) => candidate === value);
    if (known === undefined) return false;
    script[key] = known;
    return true;
  };
}
