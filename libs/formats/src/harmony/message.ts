import { type CallTarget, type Piece } from '../format.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { FUNCTIONS } from '../tools/namespaces.js';

/** One Harmony message before it is written. */
export interface MessageParts {
  /** A role, or the name of the tool that speaks. */
  author: string;
  /** Who is addressed; an assistant message with one is a call. */
  recipient?: string;
  channel?: string;
  /** Marks the content as JSON that the model wrote under a constraint. */
  constrainedJson?: boolean;
  /** Texts of the content, encoded one by one, and images. */
  content: readonly Piece[];
}

/** Writes a message. Only the marks of the format are control ids: every text stays text, whatever it spells. */
export function messagePieces(message: MessageParts): Piece[] {
  const isCall = message.author === 'assistant' && message.recipient !== undefined;
  return [...headerPieces(message), ...message.content, isCall ? HARMONY.call : HARMONY.end];
}

/** Everything of a message that stands before its content. */
export function headerPieces({
  author,
  recipient,
  channel,
  constrainedJson,
}: Omit<MessageParts, 'content'>): Piece[] {
  const header: Piece[] = [HARMONY.start, author];
  if (recipient !== undefined) header.push(` to=${recipient}`);
  if (channel !== undefined) header.push(HARMONY.channel, channel);
  if (constrainedJson === true) header.push(' ', HARMONY.constrain, 'json');
  header.push(HARMONY.message);
  return header;
}

/** The header of a call. */
export function callHeader({ type, name, namespace }: CallTarget): Omit<MessageParts, 'content'> {
  return {
    author: 'assistant',
    recipient: `${namespace ?? FUNCTIONS}.${name}`,
    channel: 'commentary',
    constrainedJson: type !== 'custom',
  };
}
