import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Item } from '@turnpike/protocol';
import type { OutputHeader } from '../format.js';
import { chatMessages, chatTools, promptPieces } from '../testing/chat.js';
import { answer, call, LOOP, output, reasoning, TOOLS, user } from '../testing/conversations.js';
import { CONTROLS } from '../testing/families.js';
import { encoded, vocabularyWith, written } from '../testing/vocabulary.js';
import { Escapes } from './escape.js';
import { jinjaFormat } from './jinja-format.js';
import { ChatTemplate } from './template.js';

const FOLDER = new URL('../../testdata/templates/', import.meta.url);
const tokenizer = vocabularyWith([...new Set(Object.values(CONTROLS).flat()), '｜DSML｜']);
/** Those that DeepSeek's templates write by name. */
const SPECIAL = { bos_token: '<｜begin▁of▁sentence｜>' };
const escapes = new Escapes(tokenizer);

const itemOf = (header: OutputHeader, text: string, id: string): Item => {
  if (header.type === 'reasoning') return reasoning(text);
  return 'name' in header ? call(id, header.name, text) : answer(text);
};

/** What is said and called, without how JSON is laid out. */
const shown = (items: readonly Item[]) =>
  chatMessages(undefined, items).map(({ tool_calls: calls, ...message }) => ({
    ...message,
    content: message.content.trim(),
    calls,
  }));

describe.each([
  'deepseek-ai-DeepSeek-V3.2.jinja',
  'deepseek-ai-DeepSeek-V4.jinja',
  'Qwen-Qwen3-0.6B.jinja',
  'GLM-4.7-Flash.jinja',
])('%s, when reasoning is asked for', (name) => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8');
  const format = jinjaFormat({ template: text, tokenizer, specialTokens: SPECIAL });
  const head = { instructions: 'Be brief. 간단히', tools: TOOLS, reasoningEffort: 'high' };
  const whole = (items: readonly Item[]) =>
    new ChatTemplate(text).render(
      {
        ...SPECIAL,
        messages: chatMessages(head.instructions, items),
        tools: chatTools(TOOLS),
        thinking: true,
        enable_thinking: true,
        add_generation_prompt: true,
      },
      undefined,
    );

  it('C13: goes on in a tool loop, behind what was sampled, as the template writes all of it', () => {
    // What the model writes by this template, and what the tools give.
    const steps: [written: Item[], given: Item[]][] = [
      [LOOP.slice(4, 8), [output('c1', '맑음 <b>'), output('c2', '')]],
      [[reasoning('Now I know.'), call('c3', 'search', '{"tags":[],"q":"서울"}')], [output('c3', 'nothing')]],
    ];
    const items: Item[] = [user('서울 날씨는?')];
    expect(written(promptPieces(format, head, items), tokenizer)).toBe(whole(items));

    let { place } = format.renderItem(items[0] as Item, { calls: new Map(), place: undefined });
    let prompt = whole(items);
    for (const [said, given] of steps) {
      const next = whole([...items, ...said, ...given]);
      expect(next.startsWith(prompt)).toBe(true);
      const opened = format.generationPrompt(place, 'high');
      const ids = encoded(escapes.pieces(next.slice(prompt.length)), tokenizer);
      const end = ids.findIndex((id) => format.stopIds.includes(id)) + 1;
      const sampled = ids.slice(0, end);

      const events = [...format.parser(TOOLS, opened).push(sampled)];
      const parser = format.parser(TOOLS, opened);
      const all = [...parser.push(sampled), ...parser.finish('stop')];
      expect(all.slice(0, events.length)).toEqual(events);
      const read: Item[] = [];
      let header: OutputHeader = { type: 'reasoning' };
      let written_ = '';
      for (const event of all) {
        if (event.kind === 'open') [header, written_] = [event.header, ''];
        else if (event.kind === 'text') written_ += event.text;
        else {
          const item = itemOf(header, written_, `c${read.length}`);
          read.push(item);
          const taken = format.takeOver(item, event.ids ?? new Int32Array(), place);
          expect(taken).toBeDefined();
          place = taken?.place;
        }
      }
      expect(shown(read)).toEqual(shown(said));

      prompt += tokenizer.decode(sampled);
      const calls = new Map(
        said.flatMap((item) => (item.type === 'function_call' ? [[item.call_id, item]] : [])),
      );
      for (const item of given) {
        const rendered = format.renderItem(item, { calls, place });
        prompt += written(rendered.pieces, tokenizer);
        ({ place } = rendered);
      }
      const behind = [...format.closing(place), ...format.generationPrompt(place, 'high')];
      prompt += written(behind, tokenizer);
      items.push(...said, ...given);
      // Where the mark of the next turn is what ends one, it was sampled, and is written as well.
      const mark = tokenizer.decode(sampled.slice(-1));
      expect(prompt.replace(mark + mark, mark)).toBe(next);
      prompt = next;
    }
  });
});

it('refuses a template that has the token behind an answer in the same turn again', () => {
  const k3 = readFileSync(new URL('Kimi-K3.jinja', FOLDER), 'utf8');
  const marks = ['<|open|>', '<|sep|>', '<|close|>', '<|end_of_msg|>'];
  expect(() => jinjaFormat({ template: k3, tokenizer: vocabularyWith(marks) })).toThrow(
    'the control token behind an answer stands in the same turn again',
  );
});
