import { ChatmlDialect } from './chatml/chatml-dialect.js';
import { DeepSeekDialect } from './deepseek/deepseek-dialect.js';
import type { Dialect } from './dialog/dialect.js';
import type { Marks } from './dialog/marks.js';
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

/** Names of the families that are written in turns. */
export type DialogFamily = keyof typeof DIALECTS;
