import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { ITEM_TYPES, parseInput, parseItem } from './items.js';

function errorOf(input: unknown): ApiError {
  try {
    parseInput(input);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the input was taken');
}

const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const custom = { type: 'custom_tool_call', call_id: 'c1', name: 'f', input: 'x' };
const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
const text = { type: 'input_text', text: 'x' };

describe('errors of items', () => {
  it.each<[string, unknown, string, string]>([
    ['an input of another type', 5, 'invalid_type', 'input'],
    ['an object as input', { role: 'user' }, 'invalid_type', 'input'],
    ['an item that is a string', ['hi'], 'invalid_type', 'input[0]'],
    ['an item that is null', [null], 'invalid_type', 'input[0]'],
    ['an item that is a list', [[]], 'invalid_type', 'input[0]'],
    ['an item without type and role', [{ content: 'hi' }], 'missing_required_parameter', 'input[0].type'],
    ['a type that is no string', [{ type: 5 }], 'invalid_value', 'input[0].type'],
    [
      'an unknown type',
      [{ role: 'user', content: 'x' }, { type: 'mystery' }],
      'invalid_value',
      'input[1].type',
    ],
    ['a type named like a method', [{ type: 'constructor' }], 'invalid_value', 'input[0].type'],
    [
      'a message without role',
      [{ type: 'message', content: 'x' }],
      'missing_required_parameter',
      'input[0].role',
    ],
    ['an unknown role', [{ role: 'tool', content: 'x' }], 'invalid_value', 'input[0].role'],
    ['a message without content', [{ role: 'user' }], 'missing_required_parameter', 'input[0].content'],
    [
      'a message with null content',
      [{ role: 'user', content: null }],
      'missing_required_parameter',
      'input[0].content',
    ],
    ['content of another type', [{ role: 'user', content: 5 }], 'invalid_type', 'input[0].content'],
    ['a part that is a string', [{ role: 'user', content: ['x'] }], 'invalid_type', 'input[0].content[0]'],
    ['a part that is null', [{ role: 'user', content: [text, null] }], 'invalid_type', 'input[0].content[1]'],
    [
      'a part without type',
      [{ role: 'user', content: [{ text: 'x' }] }],
      'missing_required_parameter',
      'input[0].content[0].type',
    ],
    [
      'an unknown part',
      [{ role: 'user', content: [text, { type: 'text', text: 'x' }] }],
      'invalid_value',
      'input[0].content[1].type',
    ],
    [
      'a part without text',
      [{ role: 'user', content: [{ type: 'input_text' }] }],
      'missing_required_parameter',
      'input[0].content[0].text',
    ],
    [
      'text of another type',
      [{ role: 'user', content: [{ ...text, text: 5 }] }],
      'invalid_type',
      'input[0].content[0].text',
    ],
    [
      'an unknown phase',
      [{ role: 'assistant', content: 'x', phase: 'last' }],
      'invalid_value',
      'input[0].phase',
    ],
    ['an unknown status', [{ ...call, status: 'done' }], 'invalid_value', 'input[0].status'],
    ['an id of another type', [{ ...call, id: 5 }], 'invalid_type', 'input[0].id'],
    ['an id with a NUL', [{ ...call, id: 'fc_\0' }], 'invalid_value', 'input[0].id'],
    ['an empty id', [{ role: 'user', content: 'x', id: '' }], 'invalid_value', 'input[0].id'],
    ['an id that is too long', [call, { ...output, id: 'a'.repeat(257) }], 'invalid_value', 'input[1].id'],
    [
      'an id with a blank, of a tool item',
      [{ type: 'web_search_call', id: 'ws 1' }],
      'invalid_value',
      'input[0].id',
    ],
    [
      'an id that is not ASCII, of tools',
      [{ type: 'additional_tools', role: 'developer', id: 'at_é', tools: [] }],
      'invalid_value',
      'input[0].id',
    ],
    ['a reference without id', [{ type: 'item_reference' }], 'missing_required_parameter', 'input[0].id'],
    ['a reference with a number', [{ type: 'item_reference', id: 5 }], 'invalid_type', 'input[0].id'],
    [
      'a call without call_id',
      [{ ...call, call_id: undefined }],
      'missing_required_parameter',
      'input[0].call_id',
    ],
    ['a call with an empty call_id', [{ ...call, call_id: '' }], 'invalid_value', 'input[0].call_id'],
    ['a call without name', [{ ...call, name: undefined }], 'missing_required_parameter', 'input[0].name'],
    ['arguments that are an object', [{ ...call, arguments: {} }], 'invalid_type', 'input[0].arguments'],
    [
      'a custom call without input',
      [{ ...custom, input: null }],
      'missing_required_parameter',
      'input[0].input',
    ],
    [
      'an output without call_id',
      [
        { role: 'user', content: 'x' },
        { ...output, call_id: undefined },
      ],
      'missing_required_parameter',
      'input[1].call_id',
    ],
    [
      'an output without output',
      [{ ...output, output: null }],
      'missing_required_parameter',
      'input[0].output',
    ],
    ['an output that is an object', [{ ...output, output: {} }], 'invalid_type', 'input[0].output'],
    [
      'an unknown output part',
      [call, call, { ...output, output: [text, { type: 'output_text', text: 'x' }] }],
      'invalid_value',
      'input[2].output[1].type',
    ],
    [
      'an output part without text',
      [{ ...output, output: [{ type: 'input_text' }] }],
      'missing_required_parameter',
      'input[0].output[0].text',
    ],
    [
      'an image of another type',
      [{ ...output, output: [{ type: 'input_image', image_url: {} }] }],
      'invalid_type',
      'input[0].output[0].image_url',
    ],
    [
      'an unknown detail of an image',
      [{ role: 'user', content: [text, { type: 'input_image', image_url: 'data:,', detail: 'ultra' }] }],
      'invalid_value',
      'input[0].content[1].detail',
    ],
    ['a summary that is a string', [{ type: 'reasoning', summary: 'x' }], 'invalid_type', 'input[0].summary'],
    [
      'an unknown summary part',
      [{ type: 'reasoning', summary: [{ type: 'text', text: 'x' }] }],
      'invalid_value',
      'input[0].summary[0].type',
    ],
    [
      'reasoning without text',
      [{ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text' }] }],
      'missing_required_parameter',
      'input[0].content[0].text',
    ],
    [
      'a tool without a name',
      [{ type: 'additional_tools', tools: [{ type: 'function' }] }],
      'missing_required_parameter',
      'input[0].tools[0].name',
    ],
    ['tools that are an object', [{ type: 'additional_tools', tools: {} }], 'invalid_type', 'input[0].tools'],
  ])('%s names the field', (_, input, code, param) => {
    const error = errorOf(input);
    expect(error.body).toMatchObject({ type: 'invalid_request_error', code, param });
    expect(error.message).toContain(`'${param}'`);
  });

  it('say what was expected and what came', () => {
    expect(errorOf(5).message).toBe("Invalid type for 'input': expected string or array, got number.");
    expect(errorOf([{ ...call, call_id: [] }]).message).toBe(
      "Invalid type for 'input[0].call_id': expected string, got array.",
    );
    expect(errorOf([{ ...call, name: null }]).message).toBe("Missing required parameter: 'input[0].name'.");
    expect(errorOf([{ role: 'tool', content: '' }]).message).toBe(
      "Invalid value for 'input[0].role': 'tool'. Supported values are: 'user', 'assistant', 'system', 'developer'.",
    );
  });

  it('list the item types there are when one is not known', () => {
    const { message } = errorOf([{ type: 'telepathy_call' }]);
    expect(message).toContain("'telepathy_call'");
    expect(ITEM_TYPES.length).toBeGreaterThan(6);
    for (const type of ITEM_TYPES) expect(message).toContain(`'${type}'`);
  });

  it('stop at the first bad part of a list, however long it is', () => {
    let looked = 0;
    const part = {
      type: 'input_text',
      get text() {
        looked++;
        return 5;
      },
    };
    const content = Array.from({ length: 10_000 }, () => part);
    expect(errorOf([{ role: 'user', content }]).param).toBe('input[0].content[0].text');
    expect(errorOf([{ ...output, output: content }]).param).toBe('input[0].output[0].text');
    expect(looked).toBeLessThan(10);
  });

  it('start at the path of the item', () => {
    expect(() => parseItem({ type: 'message' }, 'items[7]')).toThrow("'items[7].role'");
  });
});
