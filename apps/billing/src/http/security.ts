import { ApiError } from '@turnpike/protocol';
import type { NextFunction, Request, Response } from 'express';

/** Pages have a style sheet and forms, and nothing else. */
const PAGES =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/** The board of the queue is a program of its own, with styles in its elements. */
const BOARD =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";
const BOARD_PATH = '/admin/queues';

/** Headers of every answer, and no changes that a page of another site asks for. */
export function secure(request: Request, response: Response, next: NextFunction): void {
  const isBoard = request.path === BOARD_PATH || request.path.startsWith(`${BOARD_PATH}/`);
  response.set({
    'content-security-policy': isBoard ? BOARD : PAGES,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
  });
  next(isForeign(request) ? new ApiError('origin_not_allowed') : undefined);
}

/** Browsers name the origin of every request that changes something; programs name none, and bring a key. */
function isForeign({ method, headers }: Request): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}
