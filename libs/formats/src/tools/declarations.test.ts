import { describe, expect, it } from '@jest/globals';
import { parseJson, parseTools } from '@turnpike/protocol';
import { dumps } from '../json/python-text.js';
import { declarationsOf } from './declarations.js';

describe('C14: parameters of tools', () => {
  it('are written with the numbers and in the order in which they were sent', () => {
    const parameters =
      '{"type":"object","properties":{"2":{"default":1.0},"1":{"default":100.0},"c":{"maximum":12345678901234567890,"minimum":-0.0}}}';
    const body = `{"tools":[{"type":"function","name":"f","parameters":${parameters}}]}`;
    const { tools } = parseTools((parseJson(body) as { tools: unknown }).tools, 'tools');
    expect(declarationsOf(tools).map((declared) => dumps(declared.parameters))).toEqual([
      '{"type": "object", "properties": {"2": {"default": 1.0}, "1": {"default": 100.0}, "c": {"maximum": 12345678901234567890, "minimum": -0.0}}}',
    ]);
  });
});
