import { HARMONY } from '@turnpike/formats';
import { type CallForm } from './markers.js';
import { type PlannedMessage } from './planned-message.js';

/** Part of an output: the number is a control token, the string is text. */
export type Piece = number | string;

const LITERALS: Readonly<Record<number, string>> = {
  [HARMONY.channel]: '<|channel|>',
  [HARMONY.constrain]: '<|constrain|>',
  [HARMONY.message]: '<|message|>',
};

/** The header of a message, from the role on: what stands between `<|start|>` and the content. */
export function messageHeader(message: PlannedMessage, form: CallForm): Piece[] {
  const to = message.recipient === undefined ? '' : ` to=${message.recipient}`;
  const type = message.json ? [' ', HARMONY.constrain, 'json'] : [];
  const author = form === 'role' ? ['assistant', to] : ['assistant'];
  const channel = form === 'role' ? [message.channel] : [message.channel, to];
  return [...author, HARMONY.channel, ...channel, ...type, HARMONY.message].filter((piece) => piece !== '');
}

/** The header of a model that forgets to begin a message: the name of the channel comes straight after the last one. */
export function brokenHeader(message: PlannedMessage): Piece[] {
  const header = messageHeader(message, 'channel');
  return header.slice(header.indexOf(HARMONY.channel) + 1);
}

/**
 * What is missing of a header of which `written` stands there already, control tokens as literals; undefined when
 * the header does not begin so.
 */
export function headerRest(header: readonly Piece[], written: string): Piece[] | undefined {
  const rest: Piece[] = [];
  let left = written;
  for (const piece of header) {
    const literal = typeof piece === 'string' ? piece : (LITERALS[piece] ?? '');
    if (left.length >= literal.length) {
      if (!left.startsWith(literal)) return undefined;
      left = left.slice(literal.length);
    } else {
      if (!literal.startsWith(left)) return undefined;
      rest.push(typeof piece === 'string' ? piece.slice(left.length) : piece);
      left = '';
    }
  }
  return left === '' ? rest : undefined;
}
