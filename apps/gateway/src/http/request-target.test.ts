import { expect, it } from '@jest/globals';
import { originForm } from './request-target.js';

it.each([
  ['/v1/models', '/v1/models'],
  ['/v1/models/?a=b:c//d', '/v1/models/?a=b:c//d'],
  ['http://localhost:8686/v1/models?a=1', '/v1/models?a=1'],
  ['HTTPS://user@host', '/'],
  ['http://x:bad/secret?q#f', '/secret?q'],
  ['//user@x:bad/secret#f', '/user@x:bad/secret'],
  ['http://x//y:bad/z', '/y:bad/z'],
  ['*', '/*'],
  ['', '/'],
])('reads %s as %s', (target, path) => expect(originForm(target)).toBe(path));
