import { mistralGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const mistralGoldens: readonly Golden[] = [
  {
    family: 'mistral: reasoning, calls with ids and without',
    grammar: mistralGrammar,
    opened: '[/INST]',
    output:
      '[THINK]Hm.[/THINK]Adding.[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]files.read[CALL_ID]abc123def[ARGS]{"p": " "} </s>',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Adding.'],
      ['call add', '{"a": 1}'],
      ['call files/read', '{"p": " "}'],
    ],
  },
  {
    family: 'mistral: the list of older ones',
    grammar: mistralGrammar,
    output:
      '[TOOL_CALLS] [{"name": "add", "arguments": {"a": [1]}, "id": "x"}, {"name": "add", "arguments": {}}]</s>',
    messages: [
      ['call add', '{"a": [1]}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'mistral: cut inside a name',
    grammar: mistralGrammar,
    needsControls: true,
    output: 'Go.[TOOL_CALLS]ad',
    reason: 'length',
    messages: [
      ['final', 'Go.'],
      ['commentary (cut)', 'ad'],
    ],
  },
  {
    family: 'mistral: no marker before the arguments, free text',
    grammar: mistralGrammar,
    output: '[TOOL_CALLS]add{"a": 1}[TOOL_CALLS]apply_patch[ARGS]*** Begin Patch\n',
    messages: [
      ['call add', '{"a": 1}'],
      ['custom apply_patch', '*** Begin Patch'],
    ],
  },
  {
    family: 'mistral: text behind arguments, and a list',
    grammar: mistralGrammar,
    output:
      '[TOOL_CALLS]add[ARGS]{"a": "}"} So.[TOOL_CALLS]add[ARGS]"{}"[TOOL_CALLS][{"name": "add", "arguments": {}}] Done.</s>',
    messages: [
      ['call add', '{"a": "}"}'],
      ['commentary', 'So.'],
      ['call add', '{}'],
      ['call add', '{}'],
      ['commentary', 'Done.'],
    ],
  },
];
