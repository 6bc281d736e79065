import { describe, expect, it } from '@jest/globals';
import type { Item, Tool } from '@turnpike/protocol';
import type { DialogFamily } from './families.js';
import { promptPieces } from './testing/chat.js';
import { answer, call, output, reasoning, user } from './testing/conversations.js';
import { formatOf } from './testing/families.js';
import { written } from './testing/vocabulary.js';

const TOOL: Tool = {
  type: 'function',
  name: 'look',
  description: 'Looks 봐',
  parameters: { type: 'object', properties: { at: { type: 'string' }, n: { type: 'number' } } },
};
const DECLARED =
  '{"type": "function", "function": {"name": "look", "description": "Looks 봐", "parameters": {"type": "object", ' +
  '"properties": {"at": {"type": "string"}, "n": {"type": "number"}}}}}';

/** A finished turn, then two calls of which both are answered. */
const LOOP: Item[] = [
  user(' hi 👋 '),
  reasoning('R1'),
  answer('안녕'),
  user('look'),
  reasoning('R2'),
  answer('Wait.'),
  call('a', 'look', '{"at":"집","n":1.0}'),
  call('b', 'look', '{}'),
  output('a', 'a "door"'),
  output('b', '문'),
];

/** Families whose templates are not free to be copied: what these make of the conversation, written down. */
const EXPECTED: readonly [DialogFamily, string][] = [
  [
    'llama3',
    '<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\n' +
      'Cutting Knowledge Date: December 2023\nToday Date: 31 Jan 2026\n\n' +
      'You have access to the following functions. To call a function, please respond with JSON for a function call.' +
      'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.' +
      'Do not use variables.\n\n' +
      '{\n    "type": "function",\n    "function": {\n        "name": "look",\n        "description": "Looks 봐",\n' +
      '        "parameters": {\n            "type": "object",\n            "properties": {\n' +
      '                "at": {\n                    "type": "string"\n                },\n' +
      '                "n": {\n                    "type": "number"\n                }\n            }\n        }\n    }\n}\n\n' +
      'Be brief.<|eot_id|>' +
      '<|start_header_id|>user<|end_header_id|>\n\nhi 👋<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\n안녕<|eot_id|>' +
      '<|start_header_id|>user<|end_header_id|>\n\nlook<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\nWait.<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "look", "parameters": {"at": "집", "n": 1.0}}<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "look", "parameters": {}}<|eot_id|>' +
      '<|start_header_id|>ipython<|end_header_id|>\n\n"a \\"door\\""<|eot_id|>' +
      '<|start_header_id|>ipython<|end_header_id|>\n\n"문"<|eot_id|>' +
      '<|start_header_id|>assistant<|end_header_id|>\n\n',
  ],
  [
    'kimi-k2-thinking',
    `<|im_system|>tool_declare<|im_middle|>[${DECLARED}]<|im_end|><|im_system|>system<|im_middle|>Be brief.<|im_end|>` +
      '<|im_user|>user<|im_middle|> hi 👋 <|im_end|>' +
      '<|im_assistant|>assistant<|im_middle|><think></think>안녕<|im_end|>' +
      '<|im_user|>user<|im_middle|>look<|im_end|>' +
      '<|im_assistant|>assistant<|im_middle|><think>R2</think>Wait.<|tool_calls_section_begin|>' +
      '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"at": "집", "n": 1.0}<|tool_call_end|>' +
      '<|tool_call_begin|>functions.look:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|><|im_end|>' +
      '<|im_system|>tool<|im_middle|>## Return of functions.look:0\na "door"<|im_end|>' +
      '<|im_system|>tool<|im_middle|>## Return of functions.look:1\n문<|im_end|>' +
      '<|im_assistant|>assistant<|im_middle|>',
  ],
  [
    'minimax-m2',
    ']~!b[]~b]system\nBe brief.\n\n# Tools\nYou may call one or more tools to assist with the user query.\n' +
      'Here are the tools available in JSONSchema format:\n\n<tools>\n<tool>' +
      '{"name": "look", "description": "Looks 봐", "parameters": {"type": "object", "properties": ' +
      '{"at": {"type": "string"}, "n": {"type": "number"}}}}</tool>\n</tools>\n\n' +
      'When making tool calls, use XML format to invoke tools and pass parameters:\n\n<minimax:tool_call>\n' +
      '<invoke name="tool-name-1">\n<parameter name="param-key-1">param-value-1</parameter>\n' +
      '<parameter name="param-key-2">param-value-2</parameter>\n...\n</invoke>\n</minimax:tool_call>[e~[\n' +
      ']~b]user\n hi 👋 [e~[\n]~b]ai\n안녕[e~[\n]~b]user\nlook[e~[\n' +
      ']~b]ai\n<think>\nR2\n</think>\n\nWait.\n<minimax:tool_call>\n' +
      '<invoke name="look">\n<parameter name="at">집</parameter>\n<parameter name="n">1.0</parameter>\n</invoke>\n' +
      '<invoke name="look">\n</invoke>\n</minimax:tool_call>[e~[\n' +
      ']~b]tool\n<response>a "door"</response>\n<response>문</response>[e~[\n]~b]ai\n<think>\n',
  ],
];

it.each(EXPECTED)('%s writes a tool loop as its template does', (family, expected) => {
  const format = formatOf(family);
  const pieces = promptPieces(format, { instructions: 'Be brief.', tools: [TOOL], date: '2026-01-31' }, LOOP);
  expect(written(pieces, format.tokenizer)).toBe(expected);
});

describe('what models are told where a request has no instructions', () => {
  const system = (family: DialogFamily, instructions?: string) => {
    const format = formatOf(family);
    return written(format.renderHead({ tools: [], instructions }), format.tokenizer);
  };

  it('is what the template of the model says, or nothing', () => {
    expect(system('smollm2')).toBe(
      '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n',
    );
    expect(system('smollm2', 'Be brief.')).toBe('<|im_start|>system\nBe brief.<|im_end|>\n');
    expect(system('chatml')).toBe('');
    expect(system('kimi-k2')).toBe(
      '<|im_system|>system<|im_middle|>You are Kimi, an AI assistant created by Moonshot AI.<|im_end|>',
    );
  });
});

describe('an opening', () => {
  it.each<[DialogFamily, string]>([
    ['qwen3', '<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n{"name": "look", "arguments": '],
    ['qwen3-coder', '<|im_start|>assistant\n<tool_call>\n<function=look>\n'],
    ['llama3', '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "look", "parameters": '],
    ['mistral', '[TOOL_CALLS]look[ARGS]'],
    ['deepseek-v3.1', '<｜Assistant｜></think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>'],
    ['glm-4.7', '<|assistant|></think><tool_call>look'],
  ])('of %s makes it call one tool', (family, expected) => {
    const format = formatOf(family);
    const target = { type: 'function', name: 'look' } as const;
    const ids = format.generationPrompt(undefined, undefined, { kind: 'call', targets: [target] });
    expect(format.tokenizer.decode(ids)).toBe(expected);
  });
});
