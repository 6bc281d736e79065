import type { Ending } from '@turnpike/assembly';
import { responseErrorCode, type ApiError } from '@turnpike/protocol';

/** How a response ends that this went wrong with. */
export function failedBy({ code, message }: ApiError): Ending {
  return { status: 'failed', code: responseErrorCode(code), message };
}
