import { describe, expect, it } from '@jest/globals';
import { shownError } from './log.js';

describe('what a log says of an error', () => {
  it('is what it is and where, and nothing that it carries', () => {
    const error = Object.assign(new TypeError('null value in column'), {
      code: '23502',
      detail: 'Failing row contains (a secret).',
    });
    const shown = shownError(error);
    expect(shown).toMatchObject({ type: 'TypeError', code: '23502', message: 'null value in column' });
    expect(shown.stack).toContain('log.test');
    expect(JSON.stringify(shown)).not.toContain('secret');
  });

  it('is the first of several in one, and the text of what is none', () => {
    expect(shownError(new AggregateError([new Error('refused')])).message).toBe('refused');
    expect(shownError('gone')).toEqual({ type: 'string', code: undefined, message: 'gone' });
  });
});
