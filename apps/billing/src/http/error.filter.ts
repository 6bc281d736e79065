import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { ApiError, mintId } from '@turnpike/protocol';
import { isUnreachable, unavailable } from '@turnpike/storage';
import { log } from '@turnpike/telemetry';
import type { Request, Response } from 'express';
import { page } from '../pages/layout.js';
import { html } from './html.js';
import { NotSignedIn } from './actors.js';

/** Errors as whoever asked reads them: programs get OpenAI's shape, people a page, or the way to sign in. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    answerError(thrown, http.getRequest<Request>(), http.getResponse<Response>());
  }
}

export function answerError(thrown: unknown, request: Request, response: Response): void {
  if (response.headersSent) return void response.destroy();
  if (thrown instanceof NotSignedIn) return response.redirect(303, '/login');
  const error = errorOf(thrown);
  const id = mintId('request');
  if (error.status >= 500) log.error({ err: error.cause ?? error, request: id }, 'request failed');
  response.status(error.status).set('x-request-id', id);
  if (error.retryAfter !== undefined) response.set('retry-after', String(error.retryAfter));
  if (request.path.startsWith('/billing/') || request.path === '/health') {
    response.json({ error: error.body });
  } else {
    response
      .type('html')
      .send(page('That did not work', html`<p class="error" role="alert">${error.message}</p>`));
  }
}

function errorOf(thrown: unknown): ApiError {
  if (isNowhere(thrown)) return new ApiError('not_found');
  return isUnreachable(thrown) ? unavailable(thrown) : ApiError.from(thrown);
}

function isNowhere(thrown: unknown): boolean {
  return thrown instanceof HttpException && [400, 404].includes(thrown.getStatus());
}
