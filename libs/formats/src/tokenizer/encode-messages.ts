import { type PackedIds } from './packed-ids.js';

/** What the encoder thread is started with: the vocabulary's source and fingerprint. */
export interface EncoderData {
  readonly vocabulary: string;
  readonly fingerprint: string;
}

/** To the encoder thread: a job, or without texts the word that nobody waits for it any more. */
export interface EncodeMessage {
  readonly id: number;
  readonly texts?: readonly string[];
}

/** From the encoder thread: the ids of a job. */
export interface EncodeAnswer extends PackedIds {
  readonly id: number;
}
