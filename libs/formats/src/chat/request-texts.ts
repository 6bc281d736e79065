import { o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { ChunkTexts } from './chunk-texts.js';
import { IMAGE, MESSAGES } from './markers.js';

/** What a request of messages is written from. */
export interface RequestTexts {
  /** JSON text of the functions, with commas between them; none where there are none. */
  readonly functions: readonly Buffer[];
  /** JSON text of the messages, with commas between them. */
  readonly messages: readonly Buffer[];
}

let instance: ChunkTexts | undefined;

/** One for all conversations: what is turned is kept with the conversation's own memory. */
function texts(): ChunkTexts {
  return (instance ??= new ChunkTexts(o200kHarmony(), (id) => id === IMAGE || id === MESSAGES));
}

const COMMA = 0x2c;

/**
 * The texts behind the ids of a prompt in this format.
 * @param chunks all of its ids: views that begin where their memory does
 * @param images JSON of each image in pieces, in the order in which the ids hold a place for it
 */
export function requestTexts(
  chunks: readonly Int32Array[],
  images: readonly (readonly Buffer[])[],
): RequestTexts {
  const functions: Buffer[] = [];
  const messages: Buffer[] = [];
  let target = functions;
  let image = 0;
  for (const chunk of chunks) {
    for (const part of texts().partsOf(chunk)) {
      if (typeof part !== 'number') target.push(part);
      else if (part === MESSAGES) target = messages;
      else target.push(...(images[image++] ?? [Buffer.from('null')]));
    }
  }
  const last = messages.at(-1);
  if (last !== undefined && last[last.length - 1] === COMMA) messages.splice(-1, 1, last.subarray(0, -1));
  return { functions, messages };
}
