import { deepseekGrammar, dsmlGrammar } from '../../output/grammars.js';
import type { Golden } from './golden.js';

const ds = (name: string) => `<｜tool▁${name}｜>`;
const D = '｜DSML｜';

export const deepseekGoldens: readonly Golden[] = [
  {
    family: 'deepseek V3.1: parallel calls',
    grammar: deepseekGrammar,
    opened: '<｜Assistant｜><think>',
    output: `Hm.</think>Well.${ds('calls▁begin')}${ds('call▁begin')}add${ds('sep')}{"a": 1}${ds('call▁end')}${ds('call▁begin')}nope${ds('sep')}${ds('call▁end')}${ds('calls▁end')}<｜end▁of▁sentence｜>`,
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Well.'],
      ['call add', '{"a": 1}'],
      ['call nope', '{}'],
    ],
  },
  {
    family: 'deepseek V3.1: cut inside arguments',
    grammar: deepseekGrammar,
    output: `${ds('calls▁begin')}${ds('call▁begin')}add${ds('sep')}{"a": `,
    reason: 'length',
    messages: [['call add (cut)', '{"a": ']],
  },
  {
    family: 'DSML: values that say what they are',
    grammar: dsmlGrammar,
    opened: '<｜Assistant｜></think>',
    output:
      `Ok\n\n<${D}function_calls>\n<${D}invoke name="add">\n<${D}parameter name="a" string="false">1</${D}parameter>\n<${D}parameter name="text" string="true">5 "x"</${D}parameter>\n</${D}invoke>\n` +
      `<${D}invoke name="files.read">\n</${D}invoke>\n</${D}function_calls><｜end▁of▁sentence｜>`,
    messages: [
      ['final', 'Ok'],
      ['call add', '{"a":1,"text":"5 \\"x\\""}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'deepseek V3 and R1: the name and a block of code behind the label',
    grammar: deepseekGrammar,
    output:
      `${ds('calls▁begin')}${ds('call▁begin')}function${ds('sep')}add\n\`\`\`json\n{"a": 1}\n\`\`\`${ds('call▁end')}\n` +
      `${ds('call▁begin')}function${ds('sep')}nope${ds('call▁end')}${ds('call▁begin')}add${ds('sep')}\`\`\`json\n{"a": 2}\`\`\`\nSo.${ds('call▁end')}${ds('calls▁end')}`,
    messages: [
      ['call add', '{"a": 1}'],
      ['call nope', '{}'],
      ['call add', '{"a": 2}'],
      ['commentary', 'So.'],
    ],
  },
];
