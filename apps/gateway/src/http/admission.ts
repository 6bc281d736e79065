import type { KeyRing } from '@turnpike/access';
import { ApiError, mintId } from '@turnpike/protocol';
import type { NextFunction, Request, Response } from 'express';
import type { IncomingHttpHeaders } from 'node:http';
import type { Config } from '../config/schema.js';
import { answer } from './error.filter.js';

/** What is known about a server when a request comes in. */
export interface AdmissionState {
  readonly config: Config;
  readonly keys: KeyRing;
  readonly draining: boolean;
}

/** Names and addresses of this machine, as in a Host header, with or without a port. */
const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/**
 * Keeps web pages out. A page of another site could otherwise speak to an open server on the visitor's own machine:
 * directly, or under a name of its own that it has made to mean 127.0.0.1 (DNS rebinding).
 * @throws ApiError origin_not_allowed
 */
export function admitOrigin({ origin, host }: IncomingHttpHeaders, { config, keys }: AdmissionState): void {
  if (origin !== undefined && !config.allowedOrigins.includes(origin))
    throw new ApiError('origin_not_allowed');
  if (keys.open && host !== undefined && !LOOPBACK_HOST.test(host)) {
    throw new ApiError('origin_not_allowed', {
      message: 'A server without keys can be reached as localhost or by a loopback address only.',
    });
  }
}

/**
 * Express middleware before every route: gives each answer a request id, refuses what no route has to decide about, and
 * bounds how long one answers.
 */
export function admission(state: () => AdmissionState) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const now = state();
    response.set('x-request-id', mintId('request'));
    response.once('prefinish', () => limitTail(response, now.config.limits.sendTimeoutMs));
    try {
      requireHost(request);
      // Load balancers ask by address, and are to learn that the server stops.
      if (request.path === '/health') return next();
      admitOrigin(request.headers, now);
      if (now.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
    } catch (thrown) {
      return answer(ApiError.from(thrown), response);
    }
    next();
  };
}

/** @throws ApiError invalid_http, as RFC 9112, 3.2 wants it */
function requireHost({ httpVersion, headers }: Request): void {
  if (httpVersion === '1.1' && headers.host === undefined) {
    throw new ApiError('invalid_http', { message: "The request has no 'Host' header." });
  }
}

/** Cuts off a client that reads nothing more of an answer that is complete. */
function limitTail(response: Response, timeoutMs: number): void {
  response.setTimeout(timeoutMs, () => response.destroy());
}
