/** An error that is answered in OpenAI's shape, with vLLM's type names. */
export class RequestError extends Error {
  constructor(
    /** HTTP status. */
    readonly status: number,
    message: string,
    /** The parameter at fault. */
    readonly param: string | null = null,
  ) {
    super(message);
  }
}

const TYPES: Record<number, string> = {
  400: 'BadRequestError',
  404: 'NotFoundError',
  413: 'RequestTooLargeError',
  429: 'RateLimitError',
  503: 'ServiceUnavailableError',
};

/** The body of an error answer, and of an error inside a stream. */
export function errorBody(status: number, message: string, param: string | null = null): object {
  const type = TYPES[status] ?? (status < 500 ? 'BadRequestError' : 'InternalServerError');
  return { error: { message, type, param, code: status } };
}
