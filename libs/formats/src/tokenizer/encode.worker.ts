import { parentPort, workerData } from 'node:worker_threads';
import { VOCABULARIES } from './vocabularies.js';

/** The thread behind `TokenEncoder`: each message is a list of texts, each answer the list of their ids. */
const { vocabulary } = workerData as { vocabulary: string };
const tokenizer = VOCABULARIES[vocabulary]?.();
if (parentPort === null || tokenizer === undefined)
  throw new Error(`No encoder for vocabulary ${vocabulary}`);
const port = parentPort;

port.on('message', (texts: string[]) => {
  const ids = texts.map((text) => tokenizer.encode(text));
  port.postMessage(
    ids,
    ids.map((list) => list.buffer as ArrayBuffer),
  );
});
