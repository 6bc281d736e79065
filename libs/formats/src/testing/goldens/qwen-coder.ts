import { qwenCoderGrammar } from '../../output/grammars.js';
import { CHATML_OPENED, type Golden } from './golden.js';

export const qwenCoderGoldens: readonly Golden[] = [
  {
    family: 'qwen-coder: typed values',
    grammar: qwenCoderGrammar,
    opened: CHATML_OPENED,
    output:
      'Sum:\n\n<tool_call>\n<function=add>\n<parameter=a>\n12345678901234567890\n</parameter>\n<parameter=b>\nnull\n</parameter>\n<parameter=text>\n12\n<b>"é"</b>\n\n</parameter>\n' +
      '<parameter=flag>\nTrue\n</parameter>\n<parameter=list>\n[1, {"x": 2}]\n</parameter>\n<parameter=other>\n{"k": 1}\n</parameter>\n</function>\n</tool_call><|im_end|>',
    messages: [
      ['final', 'Sum:'],
      [
        'call add',
        '{"a":12345678901234567890,"b":null,"text":"12\\n<b>\\"é\\"</b>\\n","flag":true,"list":[1, {"x": 2}],"other":{"k": 1}}',
      ],
    ],
  },
  {
    family: 'qwen-coder: values that are not what the schema says, and parallel calls',
    grammar: qwenCoderGrammar,
    output:
      '<tool_call>\n<function=add>\n<parameter=a>\nmany\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=apply_patch>\n<parameter=input>\n{"x": 1}\n</parameter>\n</function>\n</tool_call>',
    messages: [
      ['call add', '{"a":"many"}'],
      ['custom apply_patch', '{"x": 1}'],
    ],
  },
  {
    family: 'qwen-coder: no marker around the call, no parameters',
    grammar: qwenCoderGrammar,
    output: 'Go.\n<function=files.read>\n</function>\n',
    messages: [
      ['final', 'Go.'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'qwen-coder: cut inside a value',
    grammar: qwenCoderGrammar,
    needsControls: true,
    output: '<tool_call>\n<function=add>\n<parameter=text>\nab',
    reason: 'length',
    messages: [['call add (cut)', '{"text":"ab']],
  },
  {
    family: 'qwen-coder: stopped inside a value',
    grammar: qwenCoderGrammar,
    output: '<tool_call>\n<function=add>\n<parameter=text>\nab',
    messages: [['call add', '{"text":"ab"}']],
  },
  {
    family: 'qwen-coder: tags of the format inside values',
    grammar: qwenCoderGrammar,
    output:
      '<tool_call>\n<function=add>\n<parameter=text>\n<tool_call>\n<parameter=x>1</function>;</tool_call>\n</parameter> é\n</parameter>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>',
    messages: [
      ['call add', '{"text":"<tool_call>\\n<parameter=x>1</function>;</tool_call>\\n</parameter> é","a":1}'],
    ],
  },
  {
    family: 'qwen-coder: values without their end, names in quotes',
    grammar: qwenCoderGrammar,
    output:
      '<tool_call>\n<function="add">\n<parameter="a">\n1\n<parameter=text>\n<parameter=a>\n</function>\n</tool_call>\n<tool_call>\n<function=add>\n<parameter=a>\n2\n</function>\n</tool_call>',
    messages: [
      ['call add', '{"a":1,"text":"<parameter=a>"}'],
      ['call add', '{"a":2}'],
    ],
  },
  {
    family: 'qwen-coder: JSON instead of tags, and literals of Python as values',
    grammar: qwenCoderGrammar,
    output:
      '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>\n<function=add>\n{"a": 2}\n</function>\n</tool_call>\n' +
      "<tool_call>\n<function=add>\n<parameter=list>\n[{'done': False, 'n': None}]\n</parameter>\n</function>\n</tool_call>",
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{"a": 2}'],
      ['call add', '{"list":[{"done":false,"n":null}]}'],
    ],
  },
];
