import { parentPort, workerData } from 'node:worker_threads';
import { EncodeQueue } from './encode-queue.js';
import { type EncodeAnswer, type EncodeMessage, type EncoderData } from './encode-messages.js';
import { packIds } from './packed-ids.js';
import { openTokenizer } from './vocabularies.js';

/** The thread behind `TokenEncoder`. Between two steps it reads what has arrived: new jobs, and jobs given up. */
const { vocabulary, fingerprint } = workerData as EncoderData;
const tokenizer = openTokenizer(vocabulary);
// Ids of another vocabulary would be another text to the model.
if (tokenizer.fingerprint !== fingerprint)
  throw new Error(`${vocabulary} is no longer the vocabulary that the gateway has read at its start`);
if (parentPort === null) throw new Error('The encoder of a vocabulary runs in a thread');
const port = parentPort;
const queue = new EncodeQueue(tokenizer);
let working = false;

port.on('message', ({ id, texts }: EncodeMessage) => {
  if (texts === undefined) queue.drop(id);
  else queue.add(id, texts);
  if (working || queue.idle) return;
  working = true;
  setImmediate(work);
});

function work(): void {
  const done = queue.step();
  if (done !== undefined) {
    const { ids, lengths } = packIds(done.ids);
    const answer: EncodeAnswer = { id: done.id, ids, lengths };
    port.postMessage(answer, [ids.buffer, lengths.buffer] as ArrayBuffer[]);
  }
  working = !queue.idle;
  if (working) setImmediate(work);
}
