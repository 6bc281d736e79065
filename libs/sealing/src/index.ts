export { Sealer, type Opened } from './sealer.js';
export { packSampledIds, unpackSampledIds, type SampledIds } from './sampled-ids.js';
export { loadSealingKeys } from './keys.js';
export { packExpansion, unpackExpansion } from './expansion.js';
