import { llama3Grammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const llama3Goldens: readonly Golden[] = [
  {
    family: 'llama 3: a bare call',
    grammar: llama3Grammar,
    opened: '<|start_header_id|>assistant<|end_header_id|>\n\n',
    output: '{"name": "add", "parameters": {"a": "1"}}<|eot_id|>',
    messages: [['call add', '{"a": "1"}']],
  },
  {
    family: 'llama 3: several bare calls, then text',
    grammar: llama3Grammar,
    output:
      '{"type": "function", "name": "add", "parameters": {}}; {"name": "files.read", "parameters": {}}\nDone.',
    messages: [
      ['call add', '{}'],
      ['call files/read', '{}'],
      ['commentary', 'Done.'],
    ],
  },
  {
    family: 'llama 3: JSON that is an answer',
    grammar: llama3Grammar,
    output: '{"total": 3, "name": "add"}\n',
    messages: [['final', '{"total": 3, "name": "add"}\n']],
  },
  {
    family: 'llama 3: JSON with the name of something else',
    grammar: llama3Grammar,
    output: '{"name": "Bob", "parameters": {}} {',
    messages: [['final', '{"name": "Bob", "parameters": {}} {']],
  },
  {
    family: 'llama 3: JSON whose name is no text',
    grammar: llama3Grammar,
    output: '{"name": ["add"], "parameters": {}}',
    messages: [['final', '{"name": ["add"], "parameters": {}}']],
  },
  {
    family: 'llama 3: JSON that breaks off',
    grammar: llama3Grammar,
    output: ' {"name": "ad',
    reason: 'length',
    messages: [['final (cut)', '{"name": "ad']],
  },
  {
    family: 'llama 3: behind the tag, and code there',
    grammar: llama3Grammar,
    needsControls: true,
    output:
      '<|python_tag|>{"name": "nope", "parameters": {"q": 1}}<|eom_id|><|python_tag|>print(1)<|eom_id|>',
    messages: [
      ['call nope', '{"q": 1}'],
      ['commentary', 'print(1)'],
    ],
  },
];
