import { DIALOG_FAMILIES, familyFormat, type DialogFamily } from '../families.js';
import type { Format } from '../format.js';
import { vocabularyWith } from './vocabulary.js';

const THINK = ['<think>', '</think>'];
const HERMES = ['<tool_call>', '</tool_call>', '<tool_response>', '</tool_response>'];
const CHATML = ['<|im_start|>', '<|im_end|>', '<|endoftext|>'];
const GLM = [
  '[gMASK]',
  '<sop>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|observation|>',
  '<|endoftext|>',
];
const ARGUMENTS = ['<arg_key>', '</arg_key>', '<arg_value>', '</arg_value>'];
const KIMI = ['<|im_system|>', '<|im_user|>', '<|im_assistant|>', '<|im_middle|>', '<|im_end|>', '[EOS]'];
const KIMI_TOOLS = [
  '<|tool_calls_section_begin|>',
  '<|tool_calls_section_end|>',
  '<|tool_call_begin|>',
  '<|tool_call_argument_begin|>',
  '<|tool_call_end|>',
];
const MISTRAL = ['INST', 'SYSTEM_PROMPT', 'AVAILABLE_TOOLS', 'TOOL_RESULTS', 'THINK'].flatMap((name) => [
  `[${name}]`,
  `[/${name}]`,
]);
const DEEPSEEK = ['calls', 'call', 'output'].flatMap((name) => [
  `<｜tool▁${name}▁begin｜>`,
  `<｜tool▁${name}▁end｜>`,
]);

/** Control tokens that a model of each family has. */
export const CONTROLS: Readonly<Record<DialogFamily, readonly string[]>> = {
  chatml: CHATML,
  smollm2: CHATML,
  'qwen2.5': [...CHATML, '<tool_call>', '</tool_call>'],
  qwen3: [...CHATML, ...HERMES, ...THINK],
  'qwen3-coder': [...CHATML, ...HERMES, ...THINK],
  llama3: [
    '<|begin_of_text|>',
    '<|end_of_text|>',
    '<|start_header_id|>',
    '<|end_header_id|>',
    '<|eot_id|>',
    '<|eom_id|>',
  ],
  mistral: ['<s>', '</s>', ...MISTRAL, '[TOOL_CALLS]', '[ARGS]', '[IMG]'],
  'deepseek-v3.1': [
    '<｜begin▁of▁sentence｜>',
    '<｜end▁of▁sentence｜>',
    '<｜User｜>',
    '<｜Assistant｜>',
    ...THINK,
    ...DEEPSEEK,
    '<｜tool▁sep｜>',
  ],
  'glm-4.6': [...GLM, ...THINK, ...HERMES, ...ARGUMENTS],
  'glm-4.7': [...GLM, ...THINK, ...HERMES, ...ARGUMENTS],
  'kimi-k2': [...KIMI, ...KIMI_TOOLS],
  'kimi-k2-thinking': [...KIMI, ...KIMI_TOOLS, ...THINK],
  'minimax-m2': [']~!b[', ']~b]', '[e~[', ...THINK, '<minimax:tool_call>', '</minimax:tool_call>'],
};

export const FAMILIES = DIALOG_FAMILIES;

/** The format of a family in a vocabulary that has its control tokens. */
export function formatOf(family: DialogFamily, controls = CONTROLS[family]): Format {
  return familyFormat(family, vocabularyWith(controls));
}
