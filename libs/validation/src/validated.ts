import type { Tool } from '@turnpike/protocol';
import type { WaitingCalls } from './tool-pairing.js';

/** What validation knows of a chain. */
export interface Validated {
  readonly waitingCalls: WaitingCalls;
  /** Tools that joined the chain as items. */
  readonly addedTools: readonly Tool[];
}
