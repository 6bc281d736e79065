/** Harmless, and blocked by the default pack. Put together, so that these sources can be read through the gateway. */
export const MARKER = ['TURNPIKE', 'SAFETY', 'TEST', 'BLOCK'].join('-');

/** Whether some text has the marker, in one piece. */
export function hasMarker(text: string): boolean {
  return text.includes(MARKER);
}
