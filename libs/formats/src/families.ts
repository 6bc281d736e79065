import type { Item } from '@turnpike/protocol';
import { ChatmlDialect } from './chatml/chatml-dialect.js';
import { DeepSeekDialect } from './deepseek/deepseek-dialect.js';
import type { Dialect } from './dialog/dialect.js';
import { dialogFormat } from './dialog/dialog-format.js';
import { Marks } from './dialog/marks.js';
import type { Format, Place } from './format.js';
import {
  deepseekGrammar,
  glmGrammar,
  hermesGrammar,
  kimiGrammar,
  llama3Grammar,
  minimaxGrammar,
  mistralGrammar,
  qwenCoderGrammar,
} from './output/grammars.js';
import type { TurnGrammar } from './output/turn-grammar.js';
import type { Tokenizer } from './tokenizer/types.js';
import { GlmDialect } from './glm/glm-dialect.js';
import { KimiDialect } from './kimi/kimi-dialect.js';
import { Llama3Dialect } from './llama3/llama3-dialect.js';
import { MiniMaxDialect } from './minimax/minimax-dialect.js';
import { MistralDialect } from './mistral/mistral-dialect.js';
import { QwenCoderDialect } from './qwen-coder/qwen-coder-dialect.js';

/** What SmolLM2 says it is where no one says otherwise. Source: its chat template. */
const SMOLLM2 = 'You are a helpful AI assistant named SmolLM, trained by Hugging Face';
/** The same of Qwen2.5. */
const QWEN2_5 = 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.';

/** How each family is written, in the marks of a vocabulary. */
export const DIALECTS = {
  chatml: (marks) => new ChatmlDialect(marks),
  smollm2: (marks) => new ChatmlDialect(marks, { defaultSystem: SMOLLM2 }),
  'qwen2.5': (marks) => new ChatmlDialect(marks, { defaultSystem: QWEN2_5 }),
  qwen3: (marks) => new ChatmlDialect(marks, { thinks: true }),
  'qwen3-coder': (marks) => new QwenCoderDialect(marks),
  llama3: (marks) => new Llama3Dialect(marks),
  mistral: (marks) => new MistralDialect(marks),
  'deepseek-v3.1': (marks) => new DeepSeekDialect(marks),
  'glm-4.6': (marks) => new GlmDialect(marks, '4.6'),
  'glm-4.7': (marks) => new GlmDialect(marks, '4.7'),
  'kimi-k2': (marks) => new KimiDialect(marks, false),
  'kimi-k2-thinking': (marks) => new KimiDialect(marks, true),
  'minimax-m2': (marks) => new MiniMaxDialect(marks),
} as const satisfies Record<string, (marks: Marks) => Dialect>;

/** How the models of each family write. */
const GRAMMARS: Readonly<Record<DialogFamily, TurnGrammar>> = {
  chatml: hermesGrammar,
  smollm2: hermesGrammar,
  'qwen2.5': hermesGrammar,
  qwen3: hermesGrammar,
  'qwen3-coder': qwenCoderGrammar,
  llama3: llama3Grammar,
  mistral: mistralGrammar,
  'deepseek-v3.1': deepseekGrammar,
  'glm-4.6': glmGrammar,
  'glm-4.7': glmGrammar,
  'kimi-k2': kimiGrammar,
  'kimi-k2-thinking': kimiGrammar,
  'minimax-m2': minimaxGrammar,
};

/** Names of the families that are written in turns. */
export type DialogFamily = keyof typeof DIALECTS;

/** The names of {@link familyFormat}. */
export const DIALOG_FAMILIES = Object.keys(DIALECTS) as DialogFamily[];

/**
 * The format of a family in the vocabulary of one of its models.
 * @throws MissingControlToken when the vocabulary is not of the family
 */
export function familyFormat(family: DialogFamily, tokenizer: Tokenizer): Format {
  const dialect = DIALECTS[family](new Marks(family, tokenizer));
  const format = dialogFormat({ family, tokenizer, dialect, grammar: GRAMMARS[family] });
  // Every mark is looked up once, so that one that is missing is known before the first request.
  tryOut(format);
  return format;
}

/** Writes a conversation that has everything. */
function tryOut(format: Format): void {
  const tools = [{ type: 'function', name: 'f' }];
  const text = [{ type: 'input_text' as const, text: 'x' }];
  const items: Item[] = [
    { type: 'message', role: 'user', content: text },
    { type: 'message', role: 'developer', content: text },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":1}' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
    { type: 'additional_tools', role: 'developer', tools },
  ];
  format.renderHead({ tools, instructions: 'x' });
  let place: Place;
  for (const item of items) ({ place } = format.renderItem(item, { calls: new Map(), place }));
  format.closing(place);
  format.generationPrompt(place, 'none');
  format.generationPrompt(place, 'high', { kind: 'call', targets: [{ type: 'function', name: 'f' }] });
}
