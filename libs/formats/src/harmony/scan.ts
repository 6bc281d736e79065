import { HARMONY, o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { MESSAGE_ENDS, parseHeader, type MessageHeader } from './header.js';

/** A message of a prompt, as ranges of its ids; all offsets count from the start of the prompt. */
export interface HarmonyMessage extends MessageHeader {
  /** Offset of the message's first id. */
  start: number;
  /** Offset after its last id. */
  end: number;
  contentStart: number;
  /** Offset after the last id of the content. */
  contentEnd: number;
  /** False when the ids end inside the message, as they do after a generation prompt. */
  complete: boolean;
}

/**
 * Cuts the ids of a prompt into messages. Headers are decoded, contents stay ranges of ids. Ids between messages
 * are passed over; a message that ends before its `<|message|>` is all content.
 *
 * @param from offset of a message's first id; nothing before it is looked at, so that a prompt which grew is read
 *   in the time of what is new
 */
export function scanMessages(ids: Int32Array, from = 0): HarmonyMessage[] {
  const messages: HarmonyMessage[] = [];
  for (let start = from; start < ids.length;) {
    if (MESSAGE_ENDS.has(ids[start] as number)) {
      start++;
      continue;
    }
    const headerStart = ids[start] === HARMONY.start ? start + 1 : start;
    const headerEnd = find(ids, headerStart, (id) => HEADER_ENDS.has(id));
    const mark = ids[headerEnd];
    if (mark === HARMONY.start) {
      start = headerEnd;
      continue;
    }
    const opens = mark === HARMONY.message;
    const header: MessageHeader =
      opens || mark === undefined
        ? parseHeader([...ids.subarray(headerStart, headerEnd)], o200kHarmony(), headerStart === start)
        : { role: 'assistant' };
    const contentStart = opens || mark === undefined ? Math.min(headerEnd + 1, ids.length) : headerStart;
    const contentEnd = opens ? find(ids, contentStart, (id) => MESSAGE_ENDS.has(id)) : headerEnd;
    const complete = contentEnd < ids.length;
    const end = complete ? contentEnd + 1 : ids.length;
    messages.push({ ...header, start, end, contentStart, contentEnd, complete });
    start = end;
  }
  return messages;
}

const HEADER_ENDS: ReadonlySet<number> = new Set([...MESSAGE_ENDS, HARMONY.start, HARMONY.message]);

/** Offset of the first id at or after `from` that is wanted, or the length. */
function find(ids: Int32Array, from: number, wanted: (id: number) => boolean): number {
  let at = from;
  while (at < ids.length && !wanted(ids[at] as number)) at++;
  return at;
}
