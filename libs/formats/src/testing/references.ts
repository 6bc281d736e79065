import { readFileSync, writeFileSync } from 'node:fs';
import { Template } from '@huggingface/jinja';
import type { Item, Tool } from '@turnpike/protocol';
import { Marks } from '../dialog/marks.js';
import { DIALECTS, type DialogFamily } from '../families.js';
import { declarationsOf } from '../tools/declarations.js';
import { chatMessages, chatTools, type ChatMessage } from './chat.js';
import { formatOf } from './families.js';
import { written } from './vocabulary.js';

/** What is asked of a renderer and of its reference. */
export interface Conversation {
  readonly name: string;
  readonly instructions?: string;
  readonly items: readonly Item[];
  readonly tools: readonly Tool[];
}

/** Where it is said how a family is written. */
export interface Reference {
  /** The prompt that makes the model answer. */
  readonly render: (conversation: Conversation) => string;
  /** Reasoning effort of the request. */
  readonly effort?: string;
  /** Whether it can write a conversation; any, unless said otherwise. */
  readonly writes?: (conversation: Conversation) => boolean;
}

interface TemplateOptions {
  readonly values?: Readonly<Record<string, unknown>>;
  /** The template without what is left out on purpose. */
  readonly rewrite?: (text: string) => string;
  /** Messages as this template wants them. */
  readonly messages?: (messages: readonly ChatMessage[], tools: readonly Tool[]) => unknown[];
}

const TESTDATA = new URL('../../testdata/', import.meta.url);

/** A chat template of testdata/templates, or anywhere. */
function byTemplate(
  file: string | URL,
  { values = {}, rewrite = (text) => text, messages = (same) => [...same] }: TemplateOptions = {},
): Reference['render'] {
  const path = typeof file === 'string' ? new URL(`templates/${file}`, TESTDATA) : file;
  return ({ instructions, items, tools }) =>
    new Template(rewrite(readFileSync(path, 'utf8'))).render({
      messages: messages(chatMessages(instructions, items), tools),
      ...(tools.length > 0 ? { tools: chatTools(tools) } : {}),
      add_generation_prompt: true,
      ...values,
    });
}

/** Llama's licence does not go with ours: what its template makes of each conversation is kept in place of it (README there). */
function llama3(conversation: Conversation): string {
  const file = new URL(`renderings/llama3/${conversation.name.replaceAll(' ', '-')}.txt`, TESTDATA);
  const template = process.env['LLAMA3_TEMPLATE'];
  if (template !== undefined) {
    const render = byTemplate(new URL(template, 'file:///'), {
      values: {
        bos_token: '<|begin_of_text|>',
        date_string: '31 Jan 2026',
        tools_in_user_message: false,
      },
      // It refuses several calls in one message, and shows no text beside one.
      messages: (messages) =>
        messages.flatMap(({ tool_calls: calls = [], ...message }) => [
          ...(message.content === '' && message.role === 'assistant' ? [] : [message]),
          ...calls.map((call) => ({ role: 'assistant', content: '', tool_calls: [call] })),
        ]),
    });
    writeFileSync(file, render(conversation));
  }
  return readFileSync(file, 'utf8');
}

const mistral = byTemplate('mistralai-Ministral-3-14B-Reasoning-2512.jinja', {
  values: { bos_token: '<s>', eos_token: '</s>' },
  // What the model is told where the request has no instructions is the operator's to decide.
  rewrite: (text) => text.replace(/(set default_system_message = )'[^']*'/, "$1''"),
  messages: (messages) =>
    messages.map(({ reasoning_content: thinking, ...message }) => {
      if (thinking === undefined) return message;
      const text = message.content === '' ? [] : [{ type: 'text', text: message.content }];
      return { ...message, content: [{ type: 'thinking', thinking }, ...text] };
    }),
});

const deepseek = byTemplate('deepseek-ai-DeepSeek-V3.1.jinja', {
  values: { bos_token: '<｜begin▁of▁sentence｜>' },
  // The model card's template, of which this is a copy, closes reasoning that it has not opened.
  rewrite: (text) =>
    text.replaceAll("'<think></think>'", "'</think>'").replaceAll('<think></think>', '</think>'),
  // It shows no tools: they are part of the system prompt, as the model card writes it.
  messages: (messages, tools) => {
    if (tools.length === 0) return [...messages];
    const [first, ...others] = messages;
    const system = first?.role === 'system' ? first.content : '';
    const { tokenizer } = formatOf('deepseek-v3.1');
    const dialect = DIALECTS['deepseek-v3.1'](new Marks('deepseek', tokenizer));
    const told = written(dialect.toolsPieces(declarationsOf(tools)), tokenizer);
    const rest = first?.role === 'system' ? others : messages;
    return [{ role: 'system', content: `${system}\n\n${told}` }, ...rest];
  },
});

/** The template engine has no methods that change a list. */
function withoutListMethods(text: string): string {
  return text
    .replaceAll(
      'set _ = tool_response_queue.ids.append(formatted_id)',
      'set tool_response_queue.ids = tool_response_queue.ids + [formatted_id]',
    )
    .replaceAll(
      'set tool_call_id = tool_response_queue.ids.pop(0) -%}',
      'set tool_call_id = tool_response_queue.ids[0] -%}{%- set tool_response_queue.ids = tool_response_queue.ids[1:] -%}',
    );
}

/**
 * This copy looks from the end on for the last answer, as it says, but goes on to the first, and so would show the reasoning of
 * every turn but that one; models were made to see that of the running turn alone.
 */
function withBreak(text: string): string {
  const found = 'set ns.last_non_tool_call_assistant_msg = idx -%}';
  return text.replace(found, `${found}{%- break -%}`);
}

/** The references of families. Harmony's are in tests beside it. */
export const REFERENCES: readonly [DialogFamily, Reference][] = [
  [
    'chatml',
    {
      render: byTemplate('Qwen-Qwen2.5-7B-Instruct.jinja'),
      writes: ({ instructions }) => instructions !== undefined,
    },
  ],
  [
    'smollm2',
    { render: byTemplate('SmolLM2-135M-Instruct.jinja'), writes: ({ tools }) => tools.length === 0 },
  ],
  ['qwen2.5', { render: byTemplate('Qwen-Qwen2.5-7B-Instruct.jinja') }],
  ['qwen3', { render: byTemplate('Qwen-Qwen3-0.6B.jinja') }],
  [
    'qwen3',
    { render: byTemplate('Qwen-Qwen3-0.6B.jinja', { values: { enable_thinking: false } }), effort: 'none' },
  ],
  ['qwen3-coder', { render: byTemplate('Qwen3-Coder.jinja') }],
  ['llama3', { render: llama3 }],
  ['mistral', { render: mistral }],
  ['deepseek-v3.1', { render: deepseek }],
  ['glm-4.6', { render: byTemplate('GLM-4.6.jinja') }],
  ['glm-4.7', { render: byTemplate('GLM-4.7-Flash.jinja') }],
  [
    'glm-4.7',
    { render: byTemplate('GLM-4.7-Flash.jinja', { values: { enable_thinking: false } }), effort: 'none' },
  ],
  ['kimi-k2', { render: byTemplate('Kimi-K2-Instruct.jinja', { rewrite: withoutListMethods }) }],
  [
    'kimi-k2-thinking',
    {
      render: byTemplate('Kimi-K2-Thinking.jinja', {
        rewrite: (text) => withBreak(withoutListMethods(text)),
      }),
    },
  ],
  ['minimax-m2', { render: byTemplate('MiniMax-M2.jinja') }],
];
