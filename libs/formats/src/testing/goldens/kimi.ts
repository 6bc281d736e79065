import { kimiGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

const call = (name: string, args: string) =>
  `<|tool_call_begin|>${name}<|tool_call_argument_begin|>${args}<|tool_call_end|>`;

export const kimiGoldens: readonly Golden[] = [
  {
    family: 'kimi: parallel calls',
    grammar: kimiGrammar,
    opened: '<|im_assistant|>assistant<|im_middle|>',
    output: `<think>Hm.</think>Go.<|tool_calls_section_begin|>${call('functions.add:0', '{"a": 1}')}${call('functions.files.read:1', '{}')}<|tool_calls_section_end|><|im_end|>`,
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Go.'],
      ['call add', '{"a": 1}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'kimi: reasoning that calls end',
    grammar: kimiGrammar,
    opened: '<|im_assistant|>assistant<|im_middle|><think>',
    needsControls: true,
    output: `Hm. <|tool_calls_section_begin|>${call('functions.add:0', '{}')}`,
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'kimi: marks in the singular, a name alone, and more than arguments',
    grammar: kimiGrammar,
    opened: '<|im_assistant|>assistant<|im_middle|>',
    output: `<|tool_call_section_begin|>${call('add', ' {"a": 1}} ')}${call('functions.add:1', '')}<|tool_call_section_end|><|im_end|>`,
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{}'],
    ],
  },
];
