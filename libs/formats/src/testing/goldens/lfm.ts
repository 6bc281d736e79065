import { lfmGrammar } from '../../output/grammars.js';
import { CHATML_OPENED, type Golden } from './golden.js';

export const lfmGoldens: readonly Golden[] = [
  {
    family: 'lfm: calls as Python has them',
    grammar: lfmGrammar,
    opened: CHATML_OPENED,
    output:
      "<|tool_call_start|>[add(a=1, text='it\\'s [\\n]', flag=True, list=[1, (2,), {'k': None}]), files.read()]<|tool_call_end|>Done.<|im_end|>",
    messages: [
      ['call add', '{"a":1,"text":"it\'s [\\n]","flag":true,"list":[1,[2],{"k":null}]}'],
      ['call files/read', '{}'],
      ['commentary', 'Done.'],
    ],
  },
  {
    family: 'lfm: calls as objects',
    grammar: lfmGrammar,
    output:
      '<|tool_call_start|>[{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": {}}]<|tool_call_end|>',
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{}'],
    ],
  },
];
