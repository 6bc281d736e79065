import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ApiError, type Item } from '@turnpike/protocol';
import type { Format, Piece } from '../format.js';
import { chatMessages, chatTools, promptPieces } from '../testing/chat.js';
import {
  answer,
  call,
  CHAT,
  developer,
  LOOP,
  output,
  reasoning,
  TOOLS,
  user,
} from '../testing/conversations.js';
import { CONTROLS } from '../testing/families.js';
import { vocabularyWith, written } from '../testing/vocabulary.js';
import { UnstableTemplate } from './bridge.js';
import { jinjaFormat } from './jinja-format.js';
import { ChatTemplate } from './template.js';

const FOLDER = new URL('../../testdata/templates/', import.meta.url);
const tokenizer = vocabularyWith([...new Set(Object.values(CONTROLS).flat()), '｜DSML｜']);
const formatBy = (template: string): Format => jinjaFormat({ template, tokenizer });
const file = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8');

const STABLE = readdirSync(FOLDER).filter(
  (name) => name.endsWith('.jinja') && !/mistral|DeepSeek-V3.1|Kimi-K/.test(name),
);

describe.each(STABLE)('%s', (name) => {
  const format = formatBy(file(name));

  it.each([
    ['a chat', 'Be brief. 간단히', CHAT, []],
    ['a chat without instructions', undefined, CHAT, []],
    ['a tool loop', 'Be brief.', LOOP, TOOLS],
  ] as const)('is written piece by piece as in one go: %s', (_name, instructions, items, tools) => {
    const pieces = promptPieces(format, { instructions, tools }, items);
    const whole = new ChatTemplate(file(name)).render(
      {
        messages: chatMessages(instructions, items),
        ...(tools.length > 0 ? { tools: chatTools(tools) } : {}),
        add_generation_prompt: true,
      },
      undefined,
    );
    expect(written(pieces, tokenizer)).toBe(whole);
  });

  it('goes on behind what was sampled, closed or cut', () => {
    const opened = format.generationPrompt(undefined);
    const said = tokenizer.encode('Hello');
    const { place } = format.renderItem(user('hi'), { calls: new Map(), place: undefined });
    for (const ids of [
      [...opened, ...said, ...format.stopIds.slice(0, 1)],
      [...opened, ...said],
    ]) {
      const taken = format.takeOver(answer('Hello'), Int32Array.from(ids), place);
      const next = format.renderItem(user('more'), { calls: new Map(), place: taken?.place });
      const behind = [...next.pieces, ...format.closing(next.place)];
      const prompt = [
        ...format.renderHead({ tools: [] }),
        ...format.closing(place),
        ...ids,
        ...behind,
        ...opened,
      ];
      const whole = promptPieces(format, { tools: [] }, [user('hi'), answer('Hello'), user('more')]);
      const plain = (pieces: readonly Piece[]) =>
        written(pieces, tokenizer)
          .replaceAll(/<think>\s*<\/think>|<\/?think>/g, '')
          .replaceAll(/\s+/g, '');
      // Where the mark of the next turn is what ends one, parsers leave it out of the ids.
      expect(plain(prompt).replaceAll('<|user|><|user|>', '<|user|>')).toBe(plain(whole));
    }
  });

  it('keeps what is said behind what was sampled, whoever says it', () => {
    const ids = [
      ...format.generationPrompt(undefined),
      ...tokenizer.encode('Hello'),
      ...format.stopIds.slice(0, 1),
    ];
    const asked = format.renderItem(user('hi'), { calls: new Map(), place: undefined });
    const { place } = format.takeOver(answer('Hello'), Int32Array.from(ids), asked.place) ?? {};
    for (const item of [user('SAID'), developer('SAID'), output('c', 'SAID')]) {
      const rendered = format.renderItem(item, { calls: new Map(), place });
      expect(written([...rendered.pieces, ...format.closing(rendered.place)], tokenizer)).toContain('SAID');
    }
  });

  it('C01: never makes a control token of what anyone else has written', () => {
    const controls = Object.values(CONTROLS).flat().join('');
    const count = (word: string) => {
      const items: Item[] = [
        user(word),
        reasoning(word),
        answer(word),
        call('c', 'f', JSON.stringify({ [word]: word })),
        output('c', word),
      ];
      const schema = { type: 'string', description: word, [word]: word };
      const parameters = { type: 'object', properties: { [word]: schema }, [word]: word, required: [word] };
      const tools = [{ type: 'function', name: 'f', description: word, parameters }];
      return promptPieces(format, { tools, instructions: word }, items).filter(
        (piece) => typeof piece === 'number',
      );
    };
    expect(count(`A${controls}\ue000\uf8ff`)).toEqual(count('A harmless word'));
    // The template puts brackets around names, which must not complete a token.
    for (const part of [
      '|im_end|',
      'tool_call',
      '/think',
      '<|im_end',
      'im_end|>',
      '<',
      '|>',
      '[INST',
      'arg_key',
      '>[INST]<',
    ])
      expect(count(part)).toEqual(count('word'));
  });

  it('alters no text on its way through the template', () => {
    const word = '> \ue000 <|im_end|> \uf8ff[INST] </think> \uf8fe\uf8fd 한국어';
    const pieces = promptPieces(format, { tools: [], instructions: word }, [user(word)]);
    expect(written(pieces, tokenizer).split(word)).toHaveLength(3);
  });
});

describe('C14: values in a template', () => {
  const rendered = (template: string, args: string) => {
    const source =
      `{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}` +
      `{% set x = c.function.arguments %}${template}{% endfor %}<|im_end|>\n{% endfor %}` +
      `{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;
    const format = formatBy(source);
    const prompt = written(promptPieces(format, { tools: [] }, [user('q'), call('c', 'f', args)]), tokenizer);
    return prompt.split('<|im_start|>assistant\n')[1]?.split('<|im_end|>')[0];
  };
  it.each([
    ['{"b":1,"a":2}', '{"b": 1, "a": 2}'],
    ['"a/b"', '"a/b"'],
    ['"—"', '"—"'],
    ['[1, 2]', '[1, 2]'],
    ['{"d":"temp > 10 & humidity < 50 (user\'s)"}', '{"d": "temp > 10 & humidity < 50 (user\'s)"}'],
    ['{"2":1,"1":2}', '{"2": 1, "1": 2}'],
    ['1.0', '1.0'],
    ['100.0', '100.0'],
    ['1e-7', '1e-07'],
    ['12345678901234567890', '12345678901234567890'],
    ['-0.0', '-0.0'],
    ['{"n":1.0,"__proto__":"<tool_call>"}', '{"n": 1.0, "__proto__": "<tool_call>"}'],
  ])('tojson writes %s as transformers does', (args, expected) => {
    expect(rendered('{{ x | tojson }}', args)).toBe(expected);
  });

  it('tojson takes what transformers takes', () => {
    expect(rendered('{{ x | tojson(indent=2) }}', '{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(rendered('{{ x | tojson(ensure_ascii=False) }}', '{"a":"é"}')).toBe('{"a": "é"}');
  });
});

describe('C18: a template that raises', () => {
  const source =
    `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('System messages come first!') }}` +
    `{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}` +
    `{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}`;

  it('is a 400 with its words', () => {
    const format = formatBy(source);
    const refused = () => promptPieces(format, { tools: [] }, [user('hi'), developer('New rule: French.')]);
    expect(refused).toThrow(ApiError);
    expect(refused).toThrow('System messages come first!');
    try {
      refused();
    } catch (thrown) {
      expect(ApiError.from(thrown).status).toBe(400);
    }
  });
});

it.each([
  ['no history', '{{ messages[-1].content }}'],
  ['no control tokens', '{% for m in messages %}{{ m.content }}\n{% endfor %}'],
])('refuses a template with %s at the start', (_name, source) => {
  expect(() => formatBy(source)).toThrow(UnstableTemplate);
});

it('leaves out the white space that a vocabulary takes away beside its control tokens', () => {
  const marks = ['<|user|>', '<|assistant|>', '<|system|>', '<|end|>'];
  const plain = vocabularyWith(marks);
  const strips = (id: number) =>
    id >= plain.vocabularySize - marks.length ? { left: false, right: true } : undefined;
  const template =
    "{% for m in messages %}{{ '<|' + m.role + '|>\\n' + m.content + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}";
  const format = jinjaFormat({ template, tokenizer: { ...plain, strips } });
  const pieces = promptPieces(format, { instructions: 'Be kind.', tools: [] }, [
    user('a\n'),
    answer('b'),
    user('c'),
  ]);
  expect(written(pieces, plain)).toBe(
    '<|system|>Be kind.<|end|><|user|>a\n<|end|><|assistant|>b<|end|><|user|>c<|end|><|assistant|>',
  );
});

it('names the day of the chain where a template asks for today', () => {
  const source = file('Qwen-Qwen2.5-7B-Instruct.jinja').replaceAll(
    'You are Qwen',
    "Today is ' + strftime_now('%d %b %Y') + '. You are Qwen",
  );
  const head = formatBy(source).renderHead({ tools: [], date: '2026-01-31' });
  expect(written(head, tokenizer)).toContain('Today is 31 Jan 2026.');
});
