export * from './format.js';
export * from './tokenizer/types.js';
export { HARMONY, o200kHarmony } from './tokenizer/o200k-harmony.js';
export { INLINE_UNITS, TokenEncoder } from './tokenizer/encoder-pool.js';
export { harmony } from './harmony/harmony.js';
export { type MessageHeader } from './harmony/header.js';
export { scanMessages, type HarmonyMessage } from './harmony/scan.js';
