import { type Tokenizer } from '../tokenizer/types.js';
import { CHANNELS, headerRuns, isChannel, type MessageHeader, type Run } from './header.js';

/** A message that ended before its `<|message|>`. */
export interface UnopenedMessage {
  readonly channel?: string;
  /** All that the model wrote but for the channel and who speaks. */
  readonly text: string;
  /** The same as a call, where somebody is addressed. */
  readonly call?: Required<Pick<MessageHeader, 'recipient'>> & { contentType?: string; content: string };
}

/** A channel, and signs that may cling to it. Letters behind it belong to the text. */
const CHANNEL = new RegExp(`^[^\\p{L}]*(${CHANNELS.join('|')})`, 'u');
/** Who is addressed, up to a space or what the arguments begin with. */
const RECIPIENT = /^to=\s*([^\s{["]+)/;
/** What the arguments call themselves. */
const CONTENT_TYPE = /^\s*(json|code)(?![\p{L}\d])/u;

/** Reads a header as the message that the model meant to write: its channel where one is marked, and the rest as its text. */
export function parseUnopened(
  ids: readonly number[],
  tokenizer: Tokenizer,
  afterAssistant: boolean,
): UnopenedMessage {
  const runs = headerRuns(ids, tokenizer);
  const named = runs.map((run) => (isChannel(run) ? CHANNEL.exec(run.text) : null));
  const channel = named.find((match) => match !== null)?.[1];
  const textOf = (run: Run, index: number) => run.text.slice(named[index]?.[0].length ?? 0);
  let text = runs.map(textOf).join('').trim();
  if (!afterAssistant && runs[0]?.mark === undefined) text = text.replace(/^assistant(\s+|$)/, '');
  const said = channel === undefined ? { text } : { channel, text };
  const [address, recipient] = RECIPIENT.exec(text) ?? [];
  if (address === undefined || recipient === undefined) return said;
  const rest = text.slice(address.length);
  const [mark = '', contentType] = CONTENT_TYPE.exec(rest) ?? [];
  const content = rest.slice(mark.length).trim();
  return { ...said, call: { recipient, content, ...(contentType === undefined ? {} : { contentType }) } };
}
