import { parentPort, workerData } from 'node:worker_threads';
import { packIds } from './packed-ids.js';
import { VOCABULARIES } from './vocabularies.js';

/** The thread behind `TokenEncoder`: each message is a list of texts, each answer their packed ids. */
const { vocabulary } = workerData as { vocabulary: string };
const tokenizer = VOCABULARIES[vocabulary]?.();
if (parentPort === null || tokenizer === undefined)
  throw new Error(`No encoder for vocabulary ${vocabulary}`);
const port = parentPort;

port.on('message', (texts: string[]) => {
  const encoded = packIds(texts.map((text) => tokenizer.encode(text)));
  port.postMessage(encoded, [encoded.ids.buffer, encoded.lengths.buffer] as ArrayBuffer[]);
});
