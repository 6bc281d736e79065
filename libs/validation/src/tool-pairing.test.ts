import { describe, expect, it } from '@jest/globals';
import { ApiError, parseInput } from '@turnpike/protocol';
import { foldCalls, requireAnswered, type WaitingCalls } from './tool-pairing.js';

const call = (id: string, status?: string) => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: '{}',
  status,
});
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: '1' });
const custom = (id: string) => ({ type: 'custom_tool_call', call_id: id, name: 'f', input: 'x' });
const customOutput = (id: string) => ({ type: 'custom_tool_call_output', call_id: id, output: '1' });
const user = { role: 'user', content: 'never mind' };

function fold(items: unknown[], waiting: WaitingCalls = new Map()): WaitingCalls {
  return foldCalls(waiting, parseInput(items), 'input');
}

function errorOf(action: () => unknown): ApiError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('foldCalls', () => {
  it.each<[string, unknown[], string[]]>([
    ['a call', [call('c1')], ['c1']],
    ['a call and its output', [call('c1'), output('c1')], []],
    [
      'parallel calls, answered in another order',
      [call('c1'), custom('c2'), customOutput('c2'), output('c1')],
      [],
    ],
    ['calls of which one is answered', [call('c1'), call('c2'), output('c1')], ['c2']],
    ['an output some items later', [call('c1'), user, { type: 'reasoning', summary: [] }, output('c1')], []],
    ['an id that is used again', [call('c1'), output('c1'), call('c1')], ['c1']],
    ['the same call twice, as after a replay', [call('c1'), call('c1'), output('c1')], []],
    ['a call that was cut short', [call('c1', 'incomplete')], []],
    ['a call of whatever other status', [call('c1', 'in_progress'), call('c2', 'completed')], ['c1', 'c2']],
    ['no calls', [user], []],
  ])('%s', (_, items, waiting) => {
    expect([...fold(items).keys()]).toEqual(waiting);
  });

  it.each<[string, unknown[], string]>([
    [
      'an output without a call',
      [output('c9')],
      'No tool call found for function call output with call_id c9.',
    ],
    [
      'a custom output without a call',
      [customOutput('c9')],
      'No tool call found for custom tool call output with call_id c9.',
    ],
    [
      'an output of another kind',
      [call('c1'), customOutput('c1')],
      'No tool call found for custom tool call output with call_id c1.',
    ],
    [
      'an output before its call',
      [output('c1'), call('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    [
      'a second output',
      [call('c1'), output('c1'), output('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    [
      'an output for a call that was cut short',
      [call('c1', 'incomplete'), output('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    [
      'an id that is text',
      [output('the secret plan')],
      'No tool call found for function call output with call_id (15 characters).',
    ],
  ])('refuses %s', (_, items, message) => {
    expect(errorOf(() => fold(items)).body).toEqual({
      type: 'invalid_request_error',
      code: 'tool_output_mismatch',
      message,
      param: 'input',
    });
  });

  it('sees calls of earlier turns, and changes nothing there', () => {
    const earlier = fold([call('c1'), custom('c2')]);
    expect([...fold([output('c1')], earlier).keys()]).toEqual(['c2']);
    expect([...fold([customOutput('c2'), call('c3')], earlier).keys()]).toEqual(['c1', 'c3']);
    expect([...earlier.keys()]).toEqual(['c1', 'c2']);
  });

  it('gives back the same calls where there is nothing new', () => {
    const earlier = fold([call('c1')]);
    expect(fold([user, call('c2', 'incomplete')], earlier)).toBe(earlier);
  });
});

describe('requireAnswered', () => {
  it('is content when no call waits', () => {
    expect(() => requireAnswered(fold([call('c1'), output('c1')]))).not.toThrow();
  });

  it.each([
    [[call('c1'), user], 'No tool output found for function call c1.'],
    [[custom('c1')], 'No tool output found for custom tool call c1.'],
    [[call('c1'), call('c2'), call('c3'), output('c1')], 'No tool output found for function call c2.'],
  ])('names the first of %j that waits', (items, message) => {
    expect(errorOf(() => requireAnswered(fold(items))).body).toEqual({
      type: 'invalid_request_error',
      code: 'tool_output_mismatch',
      message,
      param: 'input',
    });
  });
});
