import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApiError } from '@turnpike/protocol';
import type { Response } from 'express';
import { log } from '../log.js';
import { errorEnvelope, errorHeaders } from './error-response.js';

/** Every HTTP error in OpenAI's shape; what was not meant for clients becomes `server_error` and is logged. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const error = asApiError(thrown);
    const headers = errorHeaders(error);
    if (error.status >= 500)
      log.error({ err: error.cause ?? error, request: headers['x-request-id'] }, 'request failed');
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.status(error.status).set(headers).json(errorEnvelope(error));
  }
}

function asApiError(thrown: unknown): ApiError {
  // Nest's own: no route, and 400 for a path that cannot be decoded, which names nothing either.
  if (thrown instanceof HttpException && [400, 404].includes(thrown.getStatus()))
    return new ApiError('not_found');
  return ApiError.from(thrown);
}
