import { describe, expect, it } from '@jest/globals';
import { DIALOG_FAMILIES } from './families.js';
import { promptPieces } from './testing/chat.js';
import { CHAT, LATER, LATER_LOOP, LOOP, TOOLS } from './testing/conversations.js';
import { formatOf } from './testing/families.js';
import { REFERENCES, type Conversation } from './testing/references.js';
import { written } from './testing/vocabulary.js';

const BRIEF = { instructions: 'Be brief. 간단히 😀' };

const CONVERSATIONS: readonly Conversation[] = [
  { name: 'a chat', ...BRIEF, items: CHAT, tools: [] },
  { name: 'a chat without instructions', items: CHAT, tools: [] },
  { name: 'a tool loop with parallel calls', ...BRIEF, items: LOOP, tools: TOOLS },
  { name: 'tools without instructions', items: LOOP, tools: TOOLS },
  { name: 'turns behind a tool loop', ...BRIEF, items: LATER, tools: TOOLS },
  { name: 'a tool loop behind those', ...BRIEF, items: LATER_LOOP, tools: TOOLS },
];

it('has a reference for every family', () => {
  expect(new Set(REFERENCES.map(([family]) => family))).toEqual(new Set(DIALOG_FAMILIES));
});

describe.each(REFERENCES)('%s', (family, { render, effort, writes = () => true }) => {
  const format = formatOf(family);

  it.each(CONVERSATIONS.filter(writes))('writes $name as its template does', (conversation) => {
    const { instructions, tools, items } = conversation;
    const head = { instructions, tools, date: '2026-01-31', reasoningEffort: effort };
    expect(written(promptPieces(format, head, items), format.tokenizer)).toBe(render(conversation));
  });
});
