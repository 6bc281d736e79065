import { glmGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const glmGoldens: readonly Golden[] = [
  {
    family: 'glm: typed values, none at all',
    grammar: glmGrammar,
    opened: '<|assistant|>\n<think></think>\n',
    output:
      'Ok.\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>text</arg_key>\n<arg_value> x\n</arg_value>\n</tool_call>\n<tool_call>files.read\n</tool_call><|observation|>',
    messages: [
      ['final', 'Ok.'],
      ['call add', '{"a":1,"text":" x\\n"}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'glm: a key without a value, reasoning without its end',
    grammar: glmGrammar,
    opened: '<|assistant|><think>',
    needsControls: true,
    output:
      'Hm.\n<tool_call>add<arg_key>text</arg_key><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>',
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{"text":"","a":1}'],
    ],
  },
  {
    family: 'glm: JSON instead of tags, values with tags and without their end',
    grammar: glmGrammar,
    opened: '<|assistant|>\n<think></think>\n',
    output:
      '<tool_call>{"name":"add","arguments":{"a":1}}</tool_call><tool_call>add<arg_key>text</arg_key><arg_value>a</arg_value> b<arg_key>a</arg_key><arg_value>2</tool_call>',
    messages: [
      ['call add', '{"a":1}'],
      ['call add', '{"text":"a</arg_value> b","a":2}'],
    ],
  },
];
