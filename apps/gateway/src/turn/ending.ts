import type { Ending } from '@turnpike/assembly';
import { ApiError, responseErrorCode } from '@turnpike/protocol';

/** An ending that nothing can follow. */
export type FinalEnding = Extract<Ending, { status: 'failed' | 'cancelled' }>;

/** How a response ends that this went wrong with. */
export function failedBy({ code, message }: ApiError): FinalEnding {
  return { status: 'failed', code: responseErrorCode(code), message };
}

/** The failure that a turn was ended with from outside, as when the server stops; undefined when its client left. */
export function stopReason({ reason }: AbortSignal): ApiError | undefined {
  return reason instanceof ApiError ? reason : undefined;
}
