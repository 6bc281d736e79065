import {
  answerOf,
  callMadeBy,
  isNamespace,
  type AdditionalToolsItem,
  type InputTextPart,
  type Item,
  type MessageItem,
  type MessagePart,
  type Tool,
} from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

/** What the model is asked for when a conversation is compacted. */
export const SUMMARY_REQUEST: MessageItem = {
  type: 'message',
  role: 'user',
  content: [
    {
      type: 'input_text',
      text: [
        'The conversation above is about to be removed from your context to make room. Write the notes that you will',
        'continue from, for yourself. State: what the user asked for, with every constraint and preference; what has been',
        'done and decided so far, and why; the exact names, paths, identifiers, numbers and commands that matter; what the',
        'tools returned, as far as it is still needed; what failed; what is left to do, and the next step. Be complete and',
        'brief. Do not call a tool and do not address the user.',
      ].join(' '),
    },
  ],
};

/** What stands before a summary, so that the model does not take it for something it has just said. */
const SUMMARY_INTRODUCTION =
  'Notes on the earlier conversation, which was removed from the context to make room:\n\n';

/** Most characters of earlier user messages that are kept beside a summary: about 16,000 tokens of English. */
export const KEPT_CHARACTERS = 64 * 1024;

/**
 * A summary as the model sees it again: a note of its own. It is made of what users and tools said, so that it must not
 * speak with a developer's authority.
 */
export function summaryItem(summary: string): MessageItem {
  const text = SUMMARY_INTRODUCTION + summary;
  return {
    type: 'message',
    role: 'assistant',
    phase: 'commentary',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  };
}

/**
 * An item as it may be kept without what came before it: a compaction shows that there was one, and neither says nor
 * stands for anything any more.
 */
export function apart(item: Item): Item {
  return item.type === 'compaction' ? { ...item, encrypted_content: '' } : item;
}

/** What a summary is made of. */
export interface Compacted {
  /** What was summarised, as stages see it. */
  readonly history: readonly TurnItem[];
  /** Those that are still to be answered. */
  readonly items: readonly TurnItem[];
  readonly summary: string;
  /** Tools that joined the chain as items. */
  readonly addedTools: readonly Tool[];
  /** Most characters of earlier user messages that are kept as they were. */
  readonly characters: number;
}

/**
 * What a conversation goes on from in place of everything in it: what developers said, the tools that joined it, the
 * latest user messages, the summary, and the items that are about to be answered, with the calls they answer.
 */
export function compactedItems({ history, items, summary, addedTools, characters }: Compacted): Item[] {
  const before = history.map(({ item }) => item);
  const own = items.map(({ item }) => item);
  const answers = [...callsAnsweredBy(own, before), ...own.filter((item) => !isRule(item))];
  const kept = [...usersOf(before, characters), summaryItem(summary), ...answers].map(withoutImages);
  return [...rulesOf([...before, ...own], addedTools), ...kept];
}

/** What developers said and the tools that joined: neither is ever summarised. */
export function rulesOf(items: readonly Item[], addedTools: readonly Tool[]): Item[] {
  const tools: AdditionalToolsItem = {
    type: 'additional_tools',
    role: 'developer',
    tools: addedTools.map(loaded),
  };
  const rules = items.filter(isInstruction).map(withoutImages);
  return addedTools.length === 0 ? rules : [...rules, tools];
}

/** The latest user messages that have at most so many characters together, in their order. */
export function usersOf(items: readonly Item[], most: number): MessageItem[] {
  const kept: MessageItem[] = [];
  let characters = 0;
  for (const item of items.toReversed()) {
    if (item.type !== 'message' || item.role !== 'user') continue;
    characters += charactersOf(item);
    if (characters > most) break;
    kept.push(item);
  }
  return kept.reverse();
}

/** The item with a note in place of each image: those that were seen are in the summary, and cost their tokens again. */
function withoutImages(item: Item): Item {
  if (item.type === 'message') return { ...item, content: item.content.map(noted) };
  if (item.type !== 'function_call_output' && item.type !== 'custom_tool_call_output') return item;
  return typeof item.output === 'string' ? item : { ...item, output: item.output.map(noted) };
}

function noted<Part extends MessagePart>(part: Part): Part | InputTextPart {
  return part.type === 'input_image' ? { type: 'input_text', text: '[an image]' } : part;
}

/** A tool that is to be shown, whether or not it had to be searched for before. */
function loaded(tool: Tool): Tool {
  const members = isNamespace(tool) ? { tools: tool.tools.map(loaded) } : {};
  return { ...tool, ...members, defer_loading: false };
}

function isInstruction(item: Item): boolean {
  if (item.type === 'configuration_update') return true;
  return item.type === 'message' && (item.role === 'system' || item.role === 'developer');
}

function isRule(item: Item): boolean {
  return isInstruction(item) || item.type === 'additional_tools';
}

/** Calls of `before` whose outputs are among `items`. */
function callsAnsweredBy(items: readonly Item[], before: readonly Item[]): Item[] {
  const ids = new Set(items.map((item) => answerOf(item)?.id));
  return before.filter((item) => {
    const call = callMadeBy(item);
    return call !== undefined && ids.has(call.id);
  });
}

function charactersOf({ content }: MessageItem): number {
  return content.reduce((sum, part) => sum + JSON.stringify(part).length, 0);
}
