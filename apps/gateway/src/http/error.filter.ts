import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApiError } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { log } from '../log.js';
import { errorEnvelope, errorHeaders, isFault } from './error-response.js';
import { methodsOf } from './methods.js';

/** Every HTTP error in OpenAI's shape; what was not meant for clients becomes `server_error` and is logged. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    if (!isNowhere(thrown)) return answer(ApiError.from(thrown), response);
    const { path, method } = http.getRequest<Request>();
    const methods = methodsOf(path);
    if (methods === undefined || methods.includes(method)) return answer(new ApiError('not_found'), response);
    response.set('allow', methods.join(', '));
    answer(new ApiError('method_not_allowed'), response);
  }
}

/** Answers with an error, and logs it where something failed. */
export function answer(error: ApiError, response: Response): void {
  // A client that left is nobody's failure.
  if (response.destroyed) return;
  if (isFault(error))
    log.error({ err: error.cause ?? error, request: requestIdOf(response) }, 'request failed');
  sendError(error, response);
}

/** The id of the request that is answered. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader('x-request-id'));
}

/** Answers with an error that has been logged; an answer that has begun is cut off instead. */
export function sendError(error: ApiError, response: Response): void {
  if (response.destroyed) return;
  const request = requestIdOf(response);
  if (response.headersSent) response.destroy();
  else response.status(error.status).set(errorHeaders(error, request)).json(errorEnvelope(error));
}

/** Nest's own errors: no route, and 400 for a path that cannot be decoded, which names nothing either. */
function isNowhere(thrown: unknown): boolean {
  return thrown instanceof HttpException && [400, 404].includes(thrown.getStatus());
}
