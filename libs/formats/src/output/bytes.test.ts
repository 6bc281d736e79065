import { afterAll, describe, expect, it } from '@jest/globals';
import { type OutputEvent } from '../format.js';
import { messagesOf } from '../harmony/test-support.js';
import { added, byteLevelVocabulary, tokenizerJson, vocabularyFolder } from '../tokenizer/test-vocabulary.js';
import { tokenizerFromFile } from '../tokenizer/vocabulary-file.js';
import { hermesGrammar } from './grammars.js';
import { brief } from './test-support.js';
import { turnParser } from './turn-parser.js';

const folder = vocabularyFolder();
afterAll(() => {
  folder.remove();
});

/** Nothing is merged: every byte is a token. */
const { tokens } = byteLevelVocabulary(0);
const controls = ['<|im_end|>', '<think>', '</think>', '<tool_call>', '</tool_call>'];
const tokenizer = tokenizerFromFile(
  folder.write(
    'bytes.json',
    JSON.stringify(
      tokenizerJson(
        { tokens, merges: [] },
        {
          added_tokens: controls.map((text, index) => added(tokens.length + index, text, index === 0)),
          pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
        },
      ),
    ),
  ),
);

/** Control tokens by their literals, other text byte by byte; `\xNN` is a byte. */
function idsOf(text: string): number[] {
  return text.split(/(<\|im_end\|>|<\/?think>|<\/?tool_call>|\\x..)/).flatMap((part) => {
    const control = tokenizer.controlId(part);
    if (control !== undefined) return [control];
    if (!/^\\x..$/.test(part)) return [...tokenizer.encode(part)];
    const byte = Uint8Array.of(Number.parseInt(part.slice(2), 16));
    return tokens.flatMap((_, id) => (Buffer.from(tokenizer.bytes(id)).equals(byte) ? [id] : []));
  });
}

function read(text: string): { messages: string[][]; deltas: string[] } {
  const parser = turnParser(hermesGrammar, {
    tokenizer,
    tools: [{ type: 'function', name: 'add' }],
    opened: [],
  });
  const events: OutputEvent[] = idsOf(text).flatMap((id) => parser.push([id]));
  events.push(...parser.finish('stop'));
  return {
    messages: messagesOf(events).map(brief),
    deltas: events.flatMap((event) => (event.kind === 'text' ? [event.text] : [])),
  };
}

describe('characters over several tokens', () => {
  const text = 'Müller, Γειά, नमस्ते, こんにちは, nai\u0308ve, 😊👋🏾👨‍👩‍👧‍👦🇺🇸';

  it('C08 come out whole, in every kind of message', () => {
    const { messages, deltas } = read(
      `<think>${text}</think>${text}<tool_call>{"name": "add", "arguments": {"a": "${text}"}}</tool_call><|im_end|>`,
    );
    expect(messages).toEqual([
      ['reasoning', text],
      ['final', text],
      ['call add', `{"a": "${text}"}`],
    ]);
    for (const delta of deltas) {
      expect(delta).not.toContain('\uFFFD');
      expect(delta.isWellFormed()).toBe(true);
    }
  });

  it('C07 that never become whole are replaced where it is known, and at the latest by a marker or the end', () => {
    expect(read('<think>a\\xF0\\x9F</think>b\\xF0\\x9Fc\\xE2').messages).toEqual([
      ['reasoning', 'a\uFFFD'],
      ['final', 'b\uFFFDc\uFFFD'],
    ]);
    expect(read('\\xF0\\x9F<|im_end|>').messages).toEqual([['final', '\uFFFD']]);
  });
});

describe('text that looks like a marker', () => {
  it('is text where the vocabulary has a control token for it', () => {
    const written = [...tokenizer.encode('<think>no</think> <tool_call>{"name": "add"}</tool_call>')];
    const parser = turnParser(hermesGrammar, {
      tokenizer,
      tools: [{ type: 'function', name: 'add' }],
      opened: [],
    });
    const events = [...parser.push(written), ...parser.finish('stop')];
    expect(messagesOf(events).map(brief)).toEqual([
      ['final', '<think>no</think> <tool_call>{"name": "add"}</tool_call>'],
    ]);
  });

  it('is held back only while it may become one', () => {
    const parser = turnParser(
      { ...hermesGrammar, header: undefined },
      {
        tokenizer: {
          ...tokenizer,
          controlId: () => undefined,
          detokenizer: () => tokenizer.detokenizer(),
          decode: (ids) => tokenizer.decode(ids),
        },
        tools: [{ type: 'function', name: 'add' }],
        opened: [],
      },
    );
    const deltas = [...'a <tool_b <to'].map((char) =>
      parser
        .push(tokenizer.encode(char))
        .map((event) => (event.kind === 'text' ? event.text : ''))
        .join(''),
    );
    expect(deltas).toEqual(
      ['a', '', '', '', '', '', '', '', ' <tool_b', '', '', '', ''].map((delta) => delta),
    );
    expect(parser.finish('stop').map((event) => (event.kind === 'text' ? event.text : ''))).toEqual([
      ' <to',
      '',
    ]);
  });
});
