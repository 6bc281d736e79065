import type { Ending } from '@turnpike/assembly';
import { responseErrorCode, type ApiError } from '@turnpike/protocol';

/** An ending that nothing can follow. */
export type FinalEnding = Extract<Ending, { status: 'failed' | 'cancelled' }>;

/** How a response ends that this went wrong with. */
export function failedBy({ code, message }: ApiError): FinalEnding {
  return { status: 'failed', code: responseErrorCode(code), message };
}
