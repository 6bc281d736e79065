import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { type Tokenizer } from '../tokenizer/types.js';

/** What stands between `<|start|>` and `<|message|>`. */
export interface MessageHeader {
  role: 'user' | 'assistant' | 'system' | 'developer' | 'tool';
  /** Name of a tool, or of a named user. */
  name?: string;
  recipient?: string;
  channel?: string;
  /** Without the `<|constrain|>` mark. */
  contentType?: string;
}

/**
 * Ids that end a message. `<|endoftext|>` is among the ends of sampling that engines use for gpt-oss, so it is never
 * part of a text.
 */
export const MESSAGE_ENDS: ReadonlySet<number> = new Set([
  HARMONY.return,
  HARMONY.call,
  HARMONY.end,
  HARMONY.endOfText,
]);

/** The channels that there are. */
export const CHANNELS: readonly string[] = ['analysis', 'commentary', 'final'];

/**
 * Reads the ids of a header. Models put its parts in many orders; what cannot be placed is dropped, never an error:
 * - who speaks is the first word, unless the header goes on after a given `<|start|>assistant`;
 * - the channel is the word after `<|channel|>`, of several the last that there is; a channel name where the role belongs
 *   counts too;
 * - the recipient is the first `to=`, or else a bare word with a dot (`functions.x`);
 * - the content type is the word after `<|constrain|>`, or else the last bare word.
 */
export function parseHeader(
  ids: readonly number[],
  tokenizer: Tokenizer,
  afterAssistant: boolean,
): MessageHeader {
  const runs = headerRuns(ids, tokenizer);
  const channelRun = runs.findLast(isKnownChannel) ?? runs.find(isChannel);
  const header: MessageHeader = { role: 'assistant' };
  if (channelRun !== undefined) header.channel = channelName(channelRun.text);

  const bare: string[] = [];
  for (const run of runs) {
    const words = run.text.split(/\s+/).filter((word) => word !== '');
    if (run === channelRun) words.shift();
    if (run === runs[0] && run.mark === undefined) takeAuthor(words, header, afterAssistant);
    for (const [index, word] of words.entries()) {
      if (word === 'to=') continue;
      if (words[index - 1] === 'to=') header.recipient ??= word;
      else if (word.startsWith('to=')) header.recipient ??= word.slice('to='.length);
      else if (run.mark === HARMONY.constrain && index === 0) header.contentType ??= word;
      else bare.push(word);
    }
  }
  const recipient = bare.findIndex((word) => word.includes('.'));
  if (recipient >= 0) header.recipient ??= bare.splice(recipient, 1)[0] ?? '';
  const contentType = bare.at(-1);
  if (contentType !== undefined) header.contentType ??= contentType;
  return header;
}

/** Text between two control ids of a header, with the one it follows. */
export interface Run {
  mark: number | undefined;
  text: string;
}

/** The texts of a header. */
export function headerRuns(ids: readonly number[], tokenizer: Tokenizer): Run[] {
  const runs: Run[] = [];
  let from = 0;
  let mark: number | undefined;
  for (let at = 0; at <= ids.length; at++) {
    const id = ids[at];
    if (id !== undefined && id < HARMONY.startOfText) continue;
    if (at > from) runs.push({ mark, text: tokenizer.decode(ids.slice(from, at)) });
    from = at + 1;
    mark = id;
  }
  return runs;
}

/** Whether a run names a channel. */
export function isChannel(run: Run): boolean {
  return run.mark === HARMONY.channel && /^\s*(?!to=)\S/.test(run.text);
}

function isKnownChannel(run: Run): boolean {
  return isChannel(run) && CHANNELS.includes(channelName(run.text));
}

/** First word of a channel run; what clings to a known name ("––commentary") does not make another channel. */
function channelName(text: string): string {
  const word = text.trim().split(/\s/, 1)[0] ?? '';
  return CHANNELS.find((name) => word.includes(name)) ?? word;
}

/** Takes the author off the words that open a header. */
function takeAuthor(words: string[], header: MessageHeader, afterAssistant: boolean): void {
  const [first] = words;
  if (first === undefined || first.startsWith('to=')) return;
  if (CHANNELS.includes(first)) header.channel ??= first;
  else if (first !== 'assistant') {
    if (afterAssistant) return;
    const [role, name] = first.split(/:(.*)/s, 2);
    if (role === 'user' || role === 'assistant' || role === 'system' || role === 'developer') {
      header.role = role;
      if (name !== undefined && name !== '') header.name = name;
    } else {
      header.role = 'tool';
      header.name = first;
    }
  }
  words.shift();
}
