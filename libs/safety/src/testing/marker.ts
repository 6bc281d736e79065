/**
 * Harmless, and blocked by the default pack. Put together in a way that these sources do not spell it, so that they can be
 * read through a gateway.
 */
export const MARKER = 'TURNPIKE-SAFETY-*EST-BLOCK'.replace('*', 'T');
