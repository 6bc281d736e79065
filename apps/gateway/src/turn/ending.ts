import type { Ending } from '@turnpike/assembly';
import { ApiError, responseErrorCode } from '@turnpike/protocol';

/** An ending that nothing can follow. */
export type FinalEnding = Extract<Ending, { status: 'failed' | 'cancelled' }>;

/** How a response ends that this went wrong with. */
export function failedBy({ code, message }: ApiError): FinalEnding {
  return { status: 'failed', code: responseErrorCode(code), message };
}

/** Whether it was for its content: the client can leave that out, and go on from where it was. */
export function isRefusedContent(thrown: unknown): boolean {
  return (
    thrown instanceof ApiError && (thrown.code === 'content_blocked' || thrown.code === 'safety_unavailable')
  );
}

/** The failure that a turn was ended with from outside, as when the server stops; undefined when its client left. */
export function stopReason({ reason }: AbortSignal): ApiError | undefined {
  return reason instanceof ApiError ? reason : undefined;
}
