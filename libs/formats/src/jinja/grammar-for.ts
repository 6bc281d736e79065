import {
  cohereGrammar,
  deepseekGrammar,
  dsmlGrammar,
  gemmaGrammar,
  glmGrammar,
  hermesGrammar,
  kimiGrammar,
  lfmGrammar,
  llama3Grammar,
  minimaxGrammar,
  mistralGrammar,
  qwenCoderGrammar,
} from '../output/grammars.js';
import type { TurnGrammar } from '../output/turn-grammar.js';

/** What only templates of a family have; the first that is there counts. */
const SIGNS: readonly [sign: string, grammar: TurnGrammar][] = [
  ['<minimax:tool_call>', minimaxGrammar],
  ['<arg_key>', glmGrammar],
  ['<function=', qwenCoderGrammar],
  ['｜DSML｜', dsmlGrammar],
  ['<｜tool▁call▁begin｜>', deepseekGrammar],
  ['<|tool_call_begin|>', kimiGrammar],
  ['[TOOL_CALLS]', mistralGrammar],
  ['<|START_ACTION|>', cohereGrammar],
  ['<|tool_call>', gemmaGrammar],
  ['<|tool_call_start|>', lfmGrammar],
  ['<tool_call>', hermesGrammar],
  ['<|start_header_id|>', llama3Grammar],
];

/** How the models of a template write what they say: by how it writes calls itself, and by what ends a turn in it. */
export function grammarFor(template: string, ends: readonly string[]): TurnGrammar {
  const [, grammar] = SIGNS.find(([sign]) => template.includes(sign)) ?? ['', hermesGrammar];
  return { ...grammar, ends: [...new Set([...grammar.ends, ...ends])] };
}
