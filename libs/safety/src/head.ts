import { createHash } from 'node:crypto';
import type { ResponseRequest } from '@turnpike/protocol';
import type { HeadKey, SafetyHead } from './state.js';

type HeadSource = Pick<ResponseRequest, 'instructions' | 'toolsKey' | 'text'>;

export function headKeyOf({ instructions, toolsKey, text }: HeadSource): HeadKey {
  return { instructions, toolsKey, format: text.format };
}

/** Names what stands before a chain; '' for nothing at all. */
export function headDigest({ instructions = '', toolsKey, format }: HeadKey): string {
  if (instructions === '' && toolsKey === '[]' && format.type === 'text') return '';
  return createHash('sha256')
    .update(JSON.stringify([instructions, toolsKey, format]))
    .digest('base64url');
}

/** Whether a request has this head. Texts are compared where they are there, which is cheaper than to digest them. */
export function hasHead({ digest, key }: SafetyHead, request: HeadSource): boolean {
  const own = headKeyOf(request);
  const isSame =
    key?.toolsKey === own.toolsKey &&
    key.instructions === own.instructions &&
    sameFormat(key.format, own.format);
  return isSame || digest === headDigest(own);
}

function sameFormat(a: HeadKey['format'], b: HeadKey['format']): boolean {
  return a === b || (a.type === b.type && a.type !== 'json_schema');
}
