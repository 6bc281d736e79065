import { cohereGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const cohereGoldens: readonly Golden[] = [
  {
    family: 'cohere: a list of calls',
    grammar: cohereGrammar,
    opened: '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>',
    needsControls: true,
    output:
      '<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 1}}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>',
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{"a": 1}'],
    ],
  },
  {
    family: 'cohere: an answer',
    grammar: cohereGrammar,
    needsControls: true,
    output: '<|START_RESPONSE|>Hi.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>',
    messages: [['final', 'Hi.']],
  },
];
