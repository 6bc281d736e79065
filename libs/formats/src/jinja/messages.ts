import { textOf } from '../dialog/content.js';
import { dumps } from '../json/python-text.js';
import { readJson, type JsonTree } from '../json/json-text.js';
import type { Spoken } from '../spoken/spoken.js';
import { chatTool, declarationsOf, freeTextArguments } from '../tools/declarations.js';
import { qualifiedName } from '../tools/namespaces.js';

/** A message as it waits to be rendered: JSON, with arguments as the client's text. */
export interface PendingMessage {
  readonly role: 'user' | 'system' | 'assistant' | 'tool';
  readonly content: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly name?: string;
  readonly callId?: string;
}

/** Messages with what is said behind them; what the assistant does next to each other is one message. */
export function withSpoken(messages: readonly PendingMessage[], spoken: Spoken): readonly PendingMessage[] {
  switch (spoken.kind) {
    case 'user':
      return [...messages, { role: 'user', content: textOf(spoken.content) }];
    case 'developer':
      return [...messages, { role: 'system', content: textOf(spoken.content) }];
    case 'tools': {
      const declared = declarationsOf(spoken.tools);
      if (declared.length === 0) return messages;
      const lines = declared.map((tool) => dumps(chatTool(tool)));
      return [...messages, { role: 'system', content: ['# Tools', '', ...lines].join('\n') }];
    }
    case 'reasoning':
      return [...messages, { role: 'assistant', content: '', reasoning: spoken.texts.join('') }];
    case 'answer': {
      const [last, before] = openAssistant(messages);
      const content = textOf(spoken.content);
      if (last === undefined || last.content !== '' || last.calls !== undefined) {
        return [...messages, { role: 'assistant', content }];
      }
      return [...before, { ...last, content }];
    }
    case 'call': {
      const { target, content, id = '' } = spoken;
      const written = target.type === 'custom' ? freeTextArguments(content) : content;
      const call = { id, name: qualifiedName(target), arguments: written };
      const [last = { role: 'assistant', content: '' } as const, before] = openAssistant(messages);
      return [...before, { ...last, calls: [...(last.calls ?? []), call] }];
    }
    case 'output': {
      const { tool, id, content } = spoken;
      const message: PendingMessage = { role: 'tool', content: textOf(content) };
      return [
        ...messages,
        { ...message, ...(tool && { name: qualifiedName(tool) }), ...(id !== undefined && { callId: id }) },
      ];
    }
    case 'record':
      return [...messages, { role: 'tool', content: spoken.text, name: spoken.author }];
  }
}

function openAssistant(
  messages: readonly PendingMessage[],
): [last: PendingMessage | undefined, before: readonly PendingMessage[]] {
  const last = messages.at(-1);
  return last?.role === 'assistant' ? [last, messages.slice(0, -1)] : [undefined, messages];
}

/** A message as templates know it. */
export function templateMessage(
  { role, content, reasoning, calls, name, callId }: PendingMessage,
  escape: { text(text: string): string; value(tree: JsonTree): unknown },
): Record<string, unknown> {
  return {
    role,
    content: escape.text(content),
    ...(reasoning !== undefined && { reasoning_content: escape.text(reasoning) }),
    ...(calls !== undefined && {
      tool_calls: calls.map((call) => {
        const tree = readJson(call.arguments);
        const args = tree === undefined ? escape.text(call.arguments) : escape.value(tree);
        return {
          id: escape.text(call.id),
          type: 'function',
          function: { name: escape.text(call.name), arguments: args },
        };
      }),
    }),
    ...(name !== undefined && { name: escape.text(name) }),
    ...(callId !== undefined && { tool_call_id: escape.text(callId) }),
  };
}
