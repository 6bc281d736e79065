import { readFileSync } from 'node:fs';
import { Template } from '@huggingface/jinja';
import { describe, expect, it } from '@jest/globals';
import type { Item, Tool } from '@turnpike/protocol';
import { Marks } from './dialog/marks.js';
import { DIALECTS, type DialogFamily } from './families.js';
import { declarationsOf } from './tools/declarations.js';
import { chatMessages, chatTools, promptPieces, type ChatMessage } from './testing/chat.js';
import { CHAT, LOOP, TOOLS } from './testing/conversations.js';
import { formatOf } from './testing/families.js';
import { written } from './testing/vocabulary.js';

interface Reference {
  /** In testdata/templates. */
  readonly file: string;
  readonly values?: Readonly<Record<string, unknown>>;
  readonly effort?: string;
  /** The template without what is left out on purpose. */
  readonly template?: (text: string) => string;
  /** Messages as this template wants them. */
  readonly messages?: (messages: readonly ChatMessage[], tools: readonly Tool[]) => unknown[];
}

const FOLDER = new URL('../testdata/templates/', import.meta.url);

const MISTRAL: Reference = {
  file: 'mistralai-Ministral-3-14B-Reasoning-2512.jinja',
  values: { bos_token: '<s>', eos_token: '</s>' },
  // What the model is told where the request has no instructions is the operator's to decide.
  template: (text) => text.replace(/(set default_system_message = )'[^']*'/, "$1''"),
  messages: (messages) =>
    messages.map(({ reasoning_content: thinking, ...message }) => {
      if (thinking === undefined) return message;
      const text = message.content === '' ? [] : [{ type: 'text', text: message.content }];
      return { ...message, content: [{ type: 'thinking', thinking }, ...text] };
    }),
};

const DEEPSEEK: Reference = {
  file: 'deepseek-ai-DeepSeek-V3.1.jinja',
  values: { bos_token: '<｜begin▁of▁sentence｜>' },
  // The model card's template, of which this is a copy, closes reasoning that it has not opened.
  template: (text) =>
    text.replaceAll("'<think></think>'", "'</think>'").replaceAll('<think></think>', '</think>'),
  // It shows no tools: they are part of the system prompt, as the model card writes it.
  messages: (messages, tools) => {
    if (tools.length === 0) return [...messages];
    const [first, ...others] = messages;
    const system = first?.role === 'system' ? first.content : '';
    const dialect = DIALECTS['deepseek-v3.1'](new Marks('deepseek', formatOf('deepseek-v3.1').tokenizer));
    const told = written(dialect.toolsPieces(declarationsOf(tools)), formatOf('deepseek-v3.1').tokenizer);
    const rest = first?.role === 'system' ? others : messages;
    return [{ role: 'system', content: `${system}\n\n${told}` }, ...rest];
  },
};

const CASES: readonly [DialogFamily, Reference][] = [
  ['qwen2.5', { file: 'Qwen-Qwen2.5-7B-Instruct.jinja' }],
  ['qwen3', { file: 'Qwen-Qwen3-0.6B.jinja' }],
  ['qwen3', { file: 'Qwen-Qwen3-0.6B.jinja', values: { enable_thinking: false }, effort: 'none' }],
  ['qwen3-coder', { file: 'Qwen3-Coder.jinja' }],
  ['glm-4.6', { file: 'GLM-4.6.jinja' }],
  ['glm-4.7', { file: 'GLM-4.7-Flash.jinja' }],
  ['glm-4.7', { file: 'GLM-4.7-Flash.jinja', values: { enable_thinking: false }, effort: 'none' }],
  ['mistral', MISTRAL],
  ['deepseek-v3.1', DEEPSEEK],
];

function reference(
  { file, values = {}, template = (text) => text, messages = (same) => [...same] }: Reference,
  instructions: string | undefined,
  items: readonly Item[],
  tools: readonly Tool[],
): string {
  const text = template(readFileSync(new URL(file, FOLDER), 'utf8'));
  return new Template(text).render({
    messages: messages(chatMessages(instructions, items), tools),
    ...(tools.length > 0 ? { tools: chatTools(tools) } : {}),
    add_generation_prompt: true,
    ...values,
  });
}

type Conversation = [
  name: string,
  instructions: string | undefined,
  items: readonly Item[],
  tools: readonly Tool[],
];

const CONVERSATIONS: readonly Conversation[] = [
  ['a chat', 'Be brief. 간단히 😀', CHAT, []],
  ['a chat without instructions', undefined, CHAT, []],
  ['a tool loop with parallel calls', 'Be brief.', LOOP, TOOLS],
  ['tools without instructions', undefined, LOOP, TOOLS],
];

describe.each(CASES)('%s', (family, options) => {
  const format = formatOf(family);

  it.each(CONVERSATIONS)('writes %s as its template does', (_name, instructions, items, tools) => {
    const head = { instructions, tools, date: '2026-01-31', reasoningEffort: options.effort };
    const pieces = promptPieces(format, head, items);
    expect(written(pieces, format.tokenizer)).toBe(reference(options, instructions, items, tools));
  });
});
