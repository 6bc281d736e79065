import { MARKER } from '../../libs/safety/src/testing/marker.js';

export { MARKER };

/** Whether some text has the marker, in one piece. */
export function hasMarker(text: string): boolean {
  return text.includes(MARKER);
}
