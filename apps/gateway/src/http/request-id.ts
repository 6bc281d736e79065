import { mintId } from '@turnpike/protocol';
import type { Response } from 'express';

/** Gives an answer the id that clients report it by; errors get theirs elsewhere. */
export function identify(answer: Response): void {
  answer.set('x-request-id', mintId('request'));
}
