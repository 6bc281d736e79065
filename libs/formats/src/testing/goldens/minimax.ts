import { minimaxGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const minimaxGoldens: readonly Golden[] = [
  {
    family: 'minimax: several calls in a block',
    grammar: minimaxGrammar,
    opened: ']~b]ai\n<think>\n',
    output:
      'Hm.\n</think>\n\nOk.\n<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n<parameter name="b">2.50</parameter>\n</invoke>\n<invoke name="add">\n</invoke>\n</minimax:tool_call>[e~[',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Ok.'],
      ['call add', '{"a":1,"b":2.50}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'minimax: values without their end',
    grammar: minimaxGrammar,
    output:
      '<minimax:tool_call><invoke name="add"><parameter name="text">a</invoke>\n<invoke name="add"><parameter name="text">b</parameter>c</invoke></minimax:tool_call>',
    messages: [
      ['call add', '{"text":"a"}'],
      ['call add', '{"text":"b</parameter>c"}'],
    ],
  },
];
