import { HARMONY } from '../tokenizer/o200k-harmony.js';

/** Stands where an image belongs, which is put in when the request is written. */
export const IMAGE = HARMONY.image;
/** Stands behind the functions of the request, in front of its messages. */
export const MESSAGES = HARMONY.message;
