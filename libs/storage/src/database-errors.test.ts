import { expect, it } from '@jest/globals';
import pg from 'pg';
import { isUnreachable } from './database-errors.js';

const ofServer = (code: string) => Object.assign(new pg.DatabaseError('x', 1, 'error'), { code });

it.each([
  [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), true],
  [new Error('Connection terminated unexpectedly'), true],
  [new Error('Query read timeout'), true],
  [new Error('timeout exceeded when trying to connect'), true],
  [ofServer('57P01'), true],
  [ofServer('22021'), false],
  [Object.assign(new Error('no such file'), { code: 'ENOENT' }), false],
  [new TypeError('x is not a function'), false],
  [undefined, false],
])('%p is of a database that cannot be reached: %p', (thrown, expected) => {
  expect(isUnreachable(thrown)).toBe(expected);
});
