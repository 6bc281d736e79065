import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { parseToolChoice } from './tool-choice.js';

function errorOf(value: unknown): ApiError {
  try {
    parseToolChoice(value, 'tool_choice');
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the value was taken');
}

describe('parseToolChoice', () => {
  it.each([undefined, null])('is auto for %j', (choice) => {
    expect(parseToolChoice(choice, 'tool_choice')).toBe('auto');
  });

  it.each(['none', 'auto', 'required'])('may be %s', (choice) => {
    expect(parseToolChoice(choice, 'tool_choice')).toBe(choice);
  });

  it.each([
    { type: 'function', name: 'f' },
    { type: 'custom', name: 'f' },
    { type: 'function', name: 'f', namespace: 'n' },
    {
      type: 'allowed_tools',
      mode: 'required',
      tools: [
        { type: 'function', name: 'f', namespace: 'n' },
        { type: 'web_search' },
        { type: 'mcp', server_label: 'x' },
      ],
    },
    { type: 'web_search' },
    { type: 'mcp', server_label: 'x' },
  ])('may be %j', (choice) => {
    expect(JSON.parse(JSON.stringify(parseToolChoice(choice, 'tool_choice')))).toEqual(choice);
  });

  it.each<[unknown, string, string]>([
    ['any', 'invalid_value', 'tool_choice'],
    [5, 'invalid_type', 'tool_choice'],
    [['auto'], 'invalid_type', 'tool_choice'],
    [{}, 'missing_required_parameter', 'tool_choice.type'],
    [{ type: 5 }, 'invalid_type', 'tool_choice.type'],
    [{ type: 'function' }, 'missing_required_parameter', 'tool_choice.name'],
    [{ type: 'function', function: { name: 'f' } }, 'missing_required_parameter', 'tool_choice.name'],
    [{ type: 'custom', name: '' }, 'invalid_value', 'tool_choice.name'],
    [{ type: 'function', name: 'f', namespace: 5 }, 'invalid_type', 'tool_choice.namespace'],
    [{ type: 'allowed_tools', tools: [] }, 'missing_required_parameter', 'tool_choice.mode'],
    [{ type: 'allowed_tools', mode: 'none', tools: [] }, 'invalid_value', 'tool_choice.mode'],
    [{ type: 'allowed_tools', mode: 'auto' }, 'missing_required_parameter', 'tool_choice.tools'],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{}] },
      'missing_required_parameter',
      'tool_choice.tools[0].type',
    ],
  ])('may not be %j', (choice, code, param) => {
    expect(errorOf(choice).body).toMatchObject({ code, param });
  });
});
