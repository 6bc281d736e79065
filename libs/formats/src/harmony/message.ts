import { type Piece } from '../format.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';

/** One Harmony message before it is written. */
export interface MessageParts {
  /** A role, or the name of the tool that speaks. */
  author: string;
  /** Who is addressed; an assistant message with one is a call. */
  recipient?: string;
  channel?: string;
  /** Marks the content as JSON that the model wrote under a constraint. */
  constrainedJson?: boolean;
  /** Texts of the content, encoded one by one. */
  content: readonly string[];
}

/** Writes a message. Only the marks of the format are control ids: every text stays text, whatever it spells. */
export function messagePieces(message: MessageParts): Piece[] {
  const { author, recipient, channel } = message;
  const header: Piece[] = [HARMONY.start, author];
  if (recipient !== undefined) header.push(` to=${recipient}`);
  if (channel !== undefined) header.push(HARMONY.channel, channel);
  if (message.constrainedJson === true) header.push(' ', HARMONY.constrain, 'json');
  const isCall = author === 'assistant' && recipient !== undefined;
  return [...header, HARMONY.message, ...message.content, isCall ? HARMONY.call : HARMONY.end];
}
