import { gemmaGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

export const gemmaGoldens: readonly Golden[] = [
  {
    family: 'gemma: reasoning and parallel calls',
    grammar: gemmaGrammar,
    opened: '<|turn>model\n',
    needsControls: true,
    output:
      '<|channel>thought\nHm.\n<channel|>Ok.<|tool_call>call:add{a:1,text:<|"|>it is "5", {x}\n<|"|>,list:[1,<|"|>é<|"|>,{k:true}]}<tool_call|><|tool_call>call:files.read{}<tool_call|><|tool_response>',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Ok.'],
      ['call add', '{"a":1,"text":"it is \\"5\\", {x}\\n","list":[1,"é",{"k":true}]}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'gemma: reasoning that the prompt has closed',
    grammar: gemmaGrammar,
    opened: '<|turn>model\n<|channel>thought\n<channel|>',
    needsControls: true,
    output: 'Hi.<turn|>',
    messages: [['final', 'Hi.']],
  },
  {
    family: 'gemma: stopped inside a string',
    grammar: gemmaGrammar,
    needsControls: true,
    output: '<|tool_call>call:add{list:[<|"|>a',
    messages: [['call add', '{"list":["a"]}']],
  },
];
