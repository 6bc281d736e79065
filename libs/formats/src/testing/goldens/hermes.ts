import { hermesGrammar } from '../../output/grammars.js';
import { CHATML_OPENED, type Golden } from './golden.js';

export const hermesGoldens: readonly Golden[] = [
  {
    family: 'hermes: reasoning, text, parallel calls, text between and behind them',
    grammar: hermesGrammar,
    opened: CHATML_OPENED,
    output:
      '<think>\nTwo sums.\n</think>\n\nI add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [2,  3]}}\n</tool_call>\n' +
      'And:\n<tool_call>\n{"name": "files.read", "arguments": {"path": "</tool_call"}}\n</tool_call><|im_end|>',
    messages: [
      ['reasoning', 'Two sums.'],
      ['final', 'I add.'],
      ['call add', '{"a": 1, "b": [2,  3]}'],
      ['commentary', 'And:'],
      ['call files/read', '{"path": "</tool_call"}'],
    ],
  },
  {
    family: 'hermes: reasoning that the prompt has opened',
    grammar: hermesGrammar,
    opened: `${CHATML_OPENED}<think>\n`,
    needsControls: true,
    output: 'Hm.\n\n  Well.\n</think>\n\n    indented\n\nanswer\n<|im_end|>',
    messages: [
      ['reasoning', 'Hm.\n\n  Well.'],
      ['final', '    indented\n\nanswer\n'],
    ],
  },
  {
    family: 'hermes: reasoning that the prompt has closed',
    grammar: hermesGrammar,
    opened: `${CHATML_OPENED}<think>\n\n</think>\n\n`,
    output: 'Hello.<|im_end|>',
    messages: [['final', 'Hello.']],
  },
  {
    family: 'hermes: a call that the prompt has begun',
    grammar: hermesGrammar,
    opened: `${CHATML_OPENED}<tool_call>\n{"name": "add", "arguments": `,
    output: '{"a": 1}}\n</tool_call><|im_end|>',
    messages: [['call add', '{"a": 1}']],
  },
  {
    family: 'hermes: arguments first, as a string, missing; several objects in a block',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>\n<tool_call>{"name": "add", "arguments": "{\\"a\\": \\"\\u00e9\\n\\"}"}</tool_call>' +
      '<tool_call>{"name": "add"}\n{"id": 7, "name": "add", "arguments": null}</tool_call><tool_call>[{"type": "function", "function": {"name": "add", "arguments": {}}}]</tool_call>',
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{"a": "é\\n"}'],
      ['call add', '{}'],
      ['call add', '{}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'A08 hermes: free text, and a tool that nobody declared',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"name": "apply_patch", "arguments": {"input": "*** Begin\\nPatch"}}</tool_call><tool_call>{"name": "nope", "arguments": {}}</tool_call>',
    messages: [
      ['custom apply_patch', '*** Begin\nPatch'],
      ['call nope', '{}'],
    ],
  },
  {
    family: 'hermes: a call that is none',
    grammar: hermesGrammar,
    needsControls: true,
    output: '<tool_call>\nadd one and two\n</tool_call>\n<tool_call>{"arguments": {}}</tool_call>done',
    messages: [
      ['commentary', 'add one and two'],
      ['commentary', '{"arguments": {}}'],
      ['final', 'done'],
    ],
  },
  {
    family: 'C05 hermes: cut inside arguments',
    grammar: hermesGrammar,
    output: 'Well.<tool_call>{"name": "add", "arguments": {"a": "x',
    reason: 'length',
    messages: [
      ['final', 'Well.'],
      ['call add (cut)', '{"a": "x'],
    ],
  },
  {
    family: 'C05 hermes: stopped without the marker that ends a call',
    grammar: hermesGrammar,
    output: '<tool_call>{"name": "add", "arguments": {"a": 1}}',
    messages: [['call add', '{"a": 1}']],
  },
  {
    family: 'hermes: cut in reasoning, and before the name of a call is known',
    grammar: hermesGrammar,
    opened: `${CHATML_OPENED}<think>\n`,
    output: 'I thi',
    reason: 'length',
    messages: [['reasoning (cut)', 'I thi']],
  },
  {
    family: 'hermes: cut before the name of a call is known',
    grammar: hermesGrammar,
    output: 'Ok <tool_call>{"na',
    reason: 'abort',
    messages: [
      ['final', 'Ok'],
      ['commentary (cut)', '{"na'],
    ],
  },
  {
    family: 'hermes: tags of the format inside strings',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"name": "add", "arguments": {"text": "<tool_call>{</tool_call> </think>"}}</tool_call>\n<tool_call>{"name": "add", "arguments": {}}</tool_call>',
    messages: [
      ['call add', '{"text": "<tool_call>{</tool_call> </think>"}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'hermes: brackets that are missing or too many, and text behind the object',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>\n<tool_call>{{"name": "add", "arguments": {"a": 2}}}}</tool_call>\n<tool_call>{"name": "add", "arguments": {"a": 3}}\nNow I wait.<|im_end|>',
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{"a": 2}'],
      ['call add', '{"a": 3}'],
      ['commentary', 'Now I wait.'],
    ],
  },
  {
    family: 'hermes: arguments as an empty text, beside the name, and names in full',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"name": " functions.functions.add ", "arguments": ""}</tool_call><tool_call>{"id": 1, "name": "functions.add", "a": {"b": "}"}, "text": "x"}</tool_call>',
    messages: [
      ['call add', '{}'],
      ['call add', '{"a":{"b": "}"},"text":"x"}'],
    ],
  },
  {
    family: 'hermes: line breaks and other control characters in strings',
    grammar: hermesGrammar,
    output:
      '<tool_call>{\n"name": "add", "arguments": {\n\t"text": "a\n\\\\\t\\"\u0001é",\n"b": 1}}</tool_call>',
    messages: [['call add', '{\n\t"text": "a\\n\\\\\\t\\"\\u0001é",\n"b": 1}']],
  },
  {
    family: 'hermes: a block of code, and what only begins like one',
    grammar: hermesGrammar,
    output:
      '<tool_call>\n```json\n{"name": "add", "arguments": {"a": 1}}\n```\n</tool_call><tool_call>```js\nadd\n```</tool_call>',
    messages: [
      ['call add', '{"a": 1}'],
      ['commentary', '```js\nadd\n```'],
    ],
  },
  {
    family: 'hermes: reasoning that is begun twice, and an answer about its tags',
    grammar: hermesGrammar,
    opened: `${CHATML_OPENED}<think>\n`,
    needsControls: true,
    output: '<think>\nHm.</think>\n\nThe `</think>` tag ends what `<think>` begins.<|im_end|>',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'The `</think>` tag ends what `<think>` begins.'],
    ],
  },
];
