import { describe, expect, it } from '@jest/globals';
import { type Tool } from '@turnpike/protocol';
import { type FinishReason, type OutputHeader } from '../format.js';
import { HARMONY, o200kHarmony } from '../tokenizer/o200k-harmony.js';
import { harmony } from './harmony.js';
import { idsOf, messagesOf, written, type ReadMessage } from './test-support.js';

const tools: Tool[] = [
  { type: 'function', name: 'get_weather' },
  { type: 'function', name: 'web-browsing' },
  { type: 'function', name: 'v1.lookup' },
  { type: 'custom', name: 'apply_patch' },
  { type: 'tool_search', execution: 'client' },
  { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
  { type: 'namespace', name: 'files.v2', tools: [{ type: 'custom', name: 'write' }] },
];

const reasoning: OutputHeader = { type: 'reasoning' };
const final: OutputHeader = { type: 'message', phase: 'final_answer' };
const commentary: OutputHeader = { type: 'message', phase: 'commentary' };
const weather: OutputHeader = { type: 'function_call', name: 'get_weather' };
const patch: OutputHeader = { type: 'custom_tool_call', name: 'apply_patch' };

function read(output: string | number[], reason: FinishReason = 'stop'): ReadMessage[] {
  const parser = harmony().parser(tools);
  return messagesOf([
    ...parser.push(typeof output === 'string' ? idsOf(output) : output),
    ...parser.finish(reason),
  ]);
}

/** What a reader of the API sees of the messages. */
const shown = (messages: ReadMessage[]): [OutputHeader, string][] =>
  messages.map(({ header, text }) => [header, text]);
const prompts = (messages: ReadMessage[]): string[] => messages.map(({ ids }) => written(ids));

const ANALYSIS = '<|channel|>analysis<|message|>need tool<|end|>';

describe('HarmonyParser', () => {
  it('reads reasoning, a note, a call', () => {
    const output =
      `${ANALYSIS}<|start|>assistant<|channel|>commentary<|message|>Looking.<|end|>` +
      '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Oslo"}<|call|>';
    const messages = read(output);
    expect(shown(messages)).toEqual([
      [reasoning, 'need tool'],
      [commentary, 'Looking.'],
      [weather, '{"city":"Oslo"}'],
    ]);
    expect(messages.every(({ complete }) => complete)).toBe(true);
    expect(messages.flatMap(({ ids }) => ids)).toEqual(idsOf(`<|start|>assistant${output}`));
  });

  it('reads a search for tools, where one is offered', () => {
    const output =
      '<|channel|>commentary to=functions.tool_search <|constrain|>json<|message|>{"query":"x"}<|call|>';
    expect(shown(read(output))).toEqual([
      [{ type: 'tool_search_call', name: 'tool_search' }, '{"query":"x"}'],
    ]);
    expect(shown(read('<|channel|>analysis to=tool_search<|message|>{}<|call|>'))).toEqual([
      [{ type: 'tool_search_call', name: 'tool_search' }, '{}'],
    ]);
    const parser = harmony().parser([{ type: 'tool_search' }]);
    const events = [...parser.push(idsOf(output)), ...parser.finish('stop')];
    expect(shown(messagesOf(events))).toEqual([
      [{ type: 'function_call', name: 'tool_search' }, '{"query":"x"}'],
    ]);
    expect(prompts(read('<|channel|>commentary to=functions.tool_search<|message|>{"q', 'length'))).toEqual([
      '',
    ]);
  });

  it('writes an end of sampling as the end that history has', () => {
    const [first, second] = read(
      '<|channel|>analysis<|message|>a<|return|><|start|>assistant<|channel|>final<|message|>b<|return|>',
    );
    expect(written(first?.ids ?? [])).toBe('<|start|>assistant<|channel|>analysis<|message|>a<|end|>');
    expect(written(second?.ids ?? [])).toBe('<|start|>assistant<|channel|>final<|message|>b<|end|>');
    expect(prompts(read('<|channel|>final<|message|>b<|endoftext|>'))).toEqual([
      '<|start|>assistant<|channel|>final<|message|>b<|end|>',
    ]);
    expect(prompts(read('<|channel|>final to=functions.f<|message|>{}<|return|>'))).toEqual([
      '<|start|>assistant<|channel|>final to=functions.f<|message|>{}<|call|>',
    ]);
    expect(prompts(read('<|channel|>final to=functions.f<|message|>{}<|end|>'))).toEqual([
      '<|start|>assistant<|channel|>final to=functions.f<|message|>{}<|end|>',
    ]);
  });

  it.each<[string, [OutputHeader, string][]]>([
    [
      "I must refuse<|end|><|start|>assistant<|channel|>analysis<|message|>We must refuse<|end|><|start|>assistant<|channel|>final<|message|>I'm sorry.<|return|>",
      [
        [final, 'I must refuse'],
        [reasoning, 'We must refuse'],
        [final, "I'm sorry."],
      ],
    ],
    [
      '<|channel|>analysis I must refuse<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>',
      [
        [reasoning, 'I must refuse'],
        [final, 'No.'],
      ],
    ],
    [
      '... Use the tool.<|end|><|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"location": "Tokyo"}<|call|>',
      [
        [final, '... Use the tool.'],
        [weather, '{"location": "Tokyo"}'],
      ],
    ],
    ['<|start|>assistant I must\n\n  refuse<|end|>', [[final, 'I must\n\n  refuse']]],
    ['<|channel|>final<|end|>', [[final, '']]],
    ['<|channel|>finalSorry, no.<|end|>', [[final, 'Sorry, no.']]],
    ['<|channel|>Sorry, no.<|end|>', [[final, 'Sorry, no.']]],
    [' to=functions.get_weather json{"a":"b\n"}<|call|>', [[weather, '{"a":"b\\n"}']]],
    [
      '<|channel|>commentary to=functions.get_weather <|constrain|>json{"a":1}<|call|>',
      [[weather, '{"a":1}']],
    ],
    ['<|channel|>commentary to=functions.get_weather{"a":1}<|call|>', [[weather, '{"a":1}']]],
    [' to=functions.get_weather<|channel|>commentary json<|call|>', [[weather, '{}']]],
    ['<|channel|>commentary to=elsewhere {"a":1}<|call|>', [[commentary, 'to=elsewhere {"a":1}']]],
    // Nothing at all of the format, and an end that the engine kept.
    ['Hello.', [[final, 'Hello.']]],
    ['<|channel|>analysis Hm.', [[reasoning, 'Hm.']]],
  ])('reads a message without <|message|>: %s', (output, expected) => {
    expect(shown(read(output))).toEqual(expected);
  });

  it.each([
    ['<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>'],
    [
      '<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{}<|call|>',
    ],
    [' to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>{}<|call|>'],
    ['<|channel|>commentary to=functions.get_weather<|constrain|>json<|message|>{}<|call|>'],
    ['<|channel|>commentary to=functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>commentary to=functions.get_weather code<|message|>{}<|call|>'],
    ['<|channel|>commentary functions.get_weather json<|message|>{}<|call|>'],
    ['<|channel|>commentary to=get_weather json<|message|>{}<|call|>'],
    ['<|channel|>analysis to=functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>final to=functions.get_weather<|message|>{}<|call|>'],
    [' to=functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>––commentary to=functions.get_weather <|constrain|>response<|message|>{}<|call|>'],
    ['<|channel|>commentary to=functions.get_weather to=functions.web-browsing x y<|message|>{}<|call|>'],
    ['commentary to=functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>to=functions.get_weather<|message|>{}<|call|>'],
    ['<|start|>assistant<|start|>assistant to=functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>commentary to= functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>commentary to=functions.functions.get_weather<|message|>{}<|call|>'],
    ['<|channel|>commentary to="functions.get_weather": code<|message|>{}<|call|>'],
    // Arguments that clients could not read.
    ['<|channel|>commentary to=functions.get_weather json<|message|><|call|>'],
    ['<|channel|>commentary to=functions.get_weather json<|message|> "{}"<|call|>'],
  ])('finds the tool wherever it stands: %s', (output) => {
    const messages = read(output);
    expect(shown(messages)).toEqual([[weather, '{}']]);
    expect(messages[0]?.ids).toEqual(idsOf(`<|start|>assistant${output}`));
  });

  it.each<[string, OutputHeader]>([
    ['functions.web-browsing', { type: 'function_call', name: 'web-browsing' }],
    ['functions.v1.lookup', { type: 'function_call', name: 'v1.lookup' }],
    ['functions.not_declared', { type: 'function_call', name: 'not_declared' }],
    ['functions.apply_patch', patch],
    ['files.read', { type: 'function_call', namespace: 'files', name: 'read' }],
    ['files.other', { type: 'function_call', namespace: 'files', name: 'other' }],
    ['files.v2.write', { type: 'custom_tool_call', namespace: 'files.v2', name: 'write' }],
    ['browser.search', commentary],
    ['functions', commentary],
    ['functions.', commentary],
    ['elsewhere', commentary],
  ])('reads the recipient %s', (recipient, header) => {
    expect(shown(read(`<|channel|>commentary to=${recipient}<|message|>x<|call|>`))).toEqual([[header, 'x']]);
    // Arguments on the analysis channel are no reasoning.
    expect(shown(read(`<|channel|>analysis to=${recipient} code<|message|>x<|call|>`))).toEqual([
      [header, 'x'],
    ]);
  });

  it.each<[string, OutputHeader]>([
    ['<|message|>x', final],
    ['<|channel|><|message|>x', final],
    ['<|channel|>final<|message|>x', final],
    ['<|channel|>invented<|message|>x', final],
    ['<|channel|>final <|constrain|>json<|message|>x', final],
    ['<|channel|>commentary<|message|>x', commentary],
    ['<|channel|>analysis<|message|>x', reasoning],
    ['<|channel|>analysis to=all<|message|>x', reasoning],
    ['<|channel|>analysis<|channel|>final<|message|>x', final],
    ['<|channel|>commentary to=assistant<|channel|>final<|message|>x', final],
    ['<|channel|>final to=elsewhere<|message|>x', final],
    ['<|end|><|start|>functions.f to=assistant<|channel|>commentary<|message|>x', commentary],
    ['<|end|><|start|>user<|message|>x', final],
  ])('reads the channel of %s', (output, header) => {
    expect(shown(read(output))).toEqual([[header, 'x']]);
  });

  it('reads a header that follows an end without its start', () => {
    const messages = read(
      `${ANALYSIS}commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>`,
    );
    expect(shown(messages)).toEqual([
      [reasoning, 'need tool'],
      [weather, '{}'],
    ]);
    expect(written(messages[1]?.ids ?? [])).toBe(
      'commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>',
    );
  });

  it('keeps stray ends verbatim before a message, and counts those after the last', () => {
    const messages = read(
      '<|return|><|channel|>analysis<|message|>a<|end|><|end|><|return|>' +
        ' to=x<|message|>b<|end|><|return|>',
    );
    expect(prompts(messages)).toEqual([
      '<|start|>assistant<|return|><|channel|>analysis<|message|>a<|end|>',
      '<|end|><|return|> to=x<|message|>b<|end|>',
    ]);
    expect(messages.map(({ sampled }) => sampled)).toEqual([6, 8]);
  });

  describe('when the output stops', () => {
    const call = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>';

    it('completes a call that was not ended', () => {
      const [message] = read(`${call}{"city":"Berlin"}`);
      expect(message).toMatchObject({ header: weather, text: '{"city":"Berlin"}', complete: true });
      expect(written(message?.ids ?? [])).toBe(`<|start|>assistant${call}{"city":"Berlin"}<|call|>`);
    });

    it.each<FinishReason>(['length', 'abort'])('drops a call that was cut (%s) from the prompt', (reason) => {
      const [, message] = read(`${ANALYSIS}<|start|>assistant${call}{"city":"Ber`, reason);
      expect(message).toMatchObject({ header: weather, text: '{"city":"Ber', complete: false, ids: [] });
      expect(message?.sampled).toBe(idsOf(`<|start|>assistant${call}{"city":"Ber`).length);
    });

    it.each<FinishReason>(['length', 'abort'])('ends a text that was cut (%s)', (reason) => {
      const [message] = read('<|channel|>final<|message|>Once', reason);
      expect(message).toMatchObject({ text: 'Once', complete: false, sampled: 4 });
      expect(written(message?.ids ?? [])).toBe('<|start|>assistant<|channel|>final<|message|>Once<|end|>');
    });

    it('leaves a message complete that had ended before', () => {
      expect(read(`${call}{}<|call|>`, 'length')[0]).toMatchObject({ complete: true });
      expect(read(ANALYSIS, 'abort')[0]).toMatchObject({ complete: true });
    });

    it('gives no message for a header that does not end, and counts it in the last one', () => {
      const [message, none] = read(`${ANALYSIS}<|start|>assistant<|channel|>fin`, 'length');
      expect(none).toBeUndefined();
      expect(written(message?.ids ?? [])).toBe(`<|start|>assistant${ANALYSIS}`);
      expect(message?.sampled).toBe(idsOf(`${ANALYSIS}<|start|>assistant<|channel|>fin`).length);
    });

    it('gives nothing for a header that the prompt has opened and nobody has gone on with', () => {
      const opened = '<|start|>assistant<|channel|>commentary to=functions.';
      const parser = harmony().parser(tools, idsOf(opened));
      expect([...parser.push([]), ...parser.finish('stop')]).toEqual([]);
    });

    it.each(['', '<|channel|>final', '<|return|>', '<|start|>assistant<|end|>'])(
      'gives nothing for %j',
      (output) => {
        expect(read(output)).toEqual([]);
      },
    );
  });

  describe('a custom tool', () => {
    const open = '<|channel|>commentary to=functions.apply_patch';

    it('streams free text', () => {
      const parser = harmony().parser(tools);
      const events = idsOf(`${open}<|message|>{"input": "*** Begin"}`).flatMap((id) => parser.push([id]));
      expect(events.length).toBeGreaterThan(3);
      expect(
        events
          .slice(1)
          .map((event) => (event.kind === 'text' ? event.text : '?'))
          .join(''),
      ).toBe('{"input": "*** Begin"}');
    });

    it.each([
      ['{"input": "*** Begin Patch\\n*** End Patch"}', '*** Begin Patch\n*** End Patch'],
      ['"a\\tb"', 'a\tb'],
      ['{"patch": "x"}', '{"patch": "x"}'],
      ['{"input": 5}', '{"input": 5}'],
      ['*** Begin Patch', '*** Begin Patch'],
      ['null', 'null'],
    ])('unwraps %j when it calls itself JSON', (content, text) => {
      for (const type of [' <|constrain|>json', '<|constrain|>json', ' json']) {
        const [message] = read(`${open}${type}<|message|>${content}<|call|>`);
        expect(message).toMatchObject({ header: patch, text, texts: 1 });
        expect(written(message?.ids ?? [])).toBe(
          `<|start|>assistant${open}${type}<|message|>${content}<|call|>`,
        );
      }
    });

    it('gives what there is when JSON is cut', () => {
      const cut = read(`${open} json<|message|>{"input": "*** Beg`, 'length');
      expect(cut[0]).toMatchObject({ text: '{"input": "*** Beg', complete: false, ids: [] });
    });
  });

  describe('texts', () => {
    const head = idsOf('<|channel|>final<|message|>');

    it('replace bytes that make no character', () => {
      const worked = [...o200kHarmony().encode('worked'), HARMONY.end];
      expect(shown(read([...head, 9552, 9552, ...worked]))).toEqual([[final, ' \ufffd \ufffdworked']]);
      expect(shown(read([...head, 9552, ...idsOf('XY<|end|>')]))).toEqual([[final, ' \ufffdXY']]);
      expect(shown(read([...head, 9552, ...idsOf(' interesting story')]))).toEqual([
        [final, ' \ufffd interesting story'],
      ]);
      expect(shown(read([...head, 9552], 'length'))).toEqual([[final, ' \ufffd']]);
      expect(shown(read([...head, 9552, HARMONY.end, ...idsOf('<|start|>assistant<|message|>b')]))).toEqual([
        [final, ' \ufffd'],
        [final, 'b'],
      ]);
    });

    it('never hold half a character', () => {
      const text = 'Müller, Γειά, नमस्ते, こんにちは, nai\u0308ve, 😊👋🏾👨‍👩‍👧‍👦🇺🇸🫠';
      const parser = harmony().parser([]);
      const ids = [...head, ...o200kHarmony().encode(text), HARMONY.return];
      const texts = ids
        .flatMap((id) => parser.push([id]))
        .flatMap((event) => (event.kind === 'text' ? [event.text] : []));
      expect(texts.join('')).toBe(text);
      for (const part of texts) expect(part.isWellFormed() && !part.includes('\ufffd')).toBe(true);
    });

    it.each<[string, [OutputHeader, string][]]>([
      [
        '<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>yes<|return|>',
        [
          [reasoning, 'hm'],
          [final, 'yes'],
        ],
      ],
      [
        '<|channel|>analysis<|message|>hm<|channel|>final<|message|>yes<|return|>',
        [
          [reasoning, 'hm'],
          [final, 'yes'],
        ],
      ],
      [
        '<|channel|>commentary to=functions.get_weather<|message|>{"a":1}<|start|>assistant<|channel|>final<|message|>yes<|return|>',
        [
          [weather, '{"a":1}'],
          [final, 'yes'],
        ],
      ],
      ['<|channel|>final<|message|><|message|>a<|constrain|>b<|end|>', [[final, 'ab']]],
    ])('show no mark of a header: %s', (output, expected) => {
      const messages = read(output);
      expect(shown(messages)).toEqual(expected);
      expect(messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(idsOf(output).length);
    });

    it('keep ids that mean nothing as their literals', () => {
      expect(shown(read([...head, 200_010, HARMONY.end]))).toEqual([[final, '<|reserved_200010|>']]);
    });
  });
});
