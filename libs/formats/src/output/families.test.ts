import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Tool } from '@turnpike/protocol';
import { type FinishReason, type OutputEvent } from '../format.js';
import {
  cohereGrammar,
  deepseekGrammar,
  dsmlGrammar,
  gemmaGrammar,
  glmGrammar,
  hermesGrammar,
  kimiGrammar,
  lfmGrammar,
  llama3Grammar,
  minimaxGrammar,
  mistralGrammar,
  qwenCoderGrammar,
} from './grammars.js';
import { AnyTokens, brief, markersIn, parse } from './test-support.js';
import { type TurnGrammar } from './turn-grammar.js';

const tools: Tool[] = [
  {
    type: 'function',
    name: 'add',
    parameters: {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        b: { type: ['number', 'null'] },
        text: { type: 'string' },
        flag: { type: 'boolean' },
        list: { type: 'array' },
      },
    },
  },
  { type: 'custom', name: 'apply_patch' },
  { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
];

interface Golden {
  family: string;
  grammar: TurnGrammar;
  opened?: string;
  output: string;
  reason?: FinishReason;
  messages: string[][];
}

const im = '<|im_start|>assistant\n';
const ds = (name: string) => `<｜tool▁${name}｜>`;
const D = '｜DSML｜';
const call = (name: string, args: string) =>
  `<|tool_call_begin|>${name}<|tool_call_argument_begin|>${args}<|tool_call_end|>`;

const goldens: Golden[] = [
  {
    family: 'hermes: reasoning, text, parallel calls, text between and behind them',
    grammar: hermesGrammar,
    opened: im,
    output:
      '<think>\nTwo sums.\n</think>\n\nI add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [2,  3]}}\n</tool_call>\n' +
      'And:\n<tool_call>\n{"name": "files.read", "arguments": {"path": "</tool_call"}}\n</tool_call><|im_end|>',
    messages: [
      ['reasoning', 'Two sums.'],
      ['final', 'I add.'],
      ['call add', '{"a": 1, "b": [2,  3]}'],
      ['commentary', 'And:'],
      ['call files/read', '{"path": "</tool_call"}'],
    ],
  },
  {
    family: 'hermes: reasoning that the prompt has opened',
    grammar: hermesGrammar,
    opened: `${im}<think>\n`,
    output: 'Hm.\n\n  Well.\n</think>\n\n    indented\n\nanswer\n<|im_end|>',
    messages: [
      ['reasoning', 'Hm.\n\n  Well.'],
      ['final', '    indented\n\nanswer\n'],
    ],
  },
  {
    family: 'hermes: reasoning that the prompt has closed',
    grammar: hermesGrammar,
    opened: `${im}<think>\n\n</think>\n\n`,
    output: 'Hello.<|im_end|>',
    messages: [['final', 'Hello.']],
  },
  {
    family: 'hermes: a call that the prompt has begun',
    grammar: hermesGrammar,
    opened: `${im}<tool_call>\n{"name": "add", "arguments": `,
    output: '{"a": 1}}\n</tool_call><|im_end|>',
    messages: [['call add', '{"a": 1}']],
  },
  {
    family: 'hermes: arguments first, as a string, missing; several objects in a block',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>\n<tool_call>{"name": "add", "arguments": "{\\"a\\": \\"\\u00e9\\n\\"}"}</tool_call>' +
      '<tool_call>{"name": "add"}\n{"id": 7, "name": "add", "arguments": null}</tool_call><tool_call>[{"type": "function", "function": {"name": "add", "arguments": {}}}]</tool_call>',
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{"a": "é\n"}'],
      ['call add', '{}'],
      ['call add', '{}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'A08 hermes: free text, and a tool that nobody declared',
    grammar: hermesGrammar,
    output:
      '<tool_call>{"name": "apply_patch", "arguments": {"input": "*** Begin\\nPatch"}}</tool_call><tool_call>{"name": "nope", "arguments": {}}</tool_call>',
    messages: [
      ['custom apply_patch', '*** Begin\nPatch'],
      ['call nope', '{}'],
    ],
  },
  {
    family: 'hermes: a call that is none',
    grammar: hermesGrammar,
    output: '<tool_call>\nadd one and two\n</tool_call>\n<tool_call>{"arguments": {}}</tool_call>done',
    messages: [
      ['commentary', 'add one and two'],
      ['commentary', '{"arguments": {}}'],
      ['final', 'done'],
    ],
  },
  {
    family: 'C05 hermes: cut inside arguments',
    grammar: hermesGrammar,
    output: 'Well.<tool_call>{"name": "add", "arguments": {"a": "x',
    reason: 'length',
    messages: [
      ['final', 'Well.'],
      ['call add (cut)', '{"a": "x'],
    ],
  },
  {
    family: 'C05 hermes: stopped without the marker that ends a call',
    grammar: hermesGrammar,
    output: '<tool_call>{"name": "add", "arguments": {"a": 1}}',
    messages: [['call add', '{"a": 1}']],
  },
  {
    family: 'hermes: cut in reasoning, and before the name of a call is known',
    grammar: hermesGrammar,
    opened: `${im}<think>\n`,
    output: 'I thi',
    reason: 'length',
    messages: [['reasoning (cut)', 'I thi']],
  },
  {
    family: 'hermes: cut before the name of a call is known',
    grammar: hermesGrammar,
    output: 'Ok <tool_call>{"na',
    reason: 'abort',
    messages: [
      ['final', 'Ok'],
      ['commentary (cut)', '{"na'],
    ],
  },
  {
    family: 'qwen-coder: typed values',
    grammar: qwenCoderGrammar,
    opened: im,
    output:
      'Sum:\n\n<tool_call>\n<function=add>\n<parameter=a>\n12345678901234567890\n</parameter>\n<parameter=b>\nnull\n</parameter>\n<parameter=text>\n12\n<b>"é"</b>\n\n</parameter>\n' +
      '<parameter=flag>\nTrue\n</parameter>\n<parameter=list>\n[1, {"x": 2}]\n</parameter>\n<parameter=other>\n{"k": 1}\n</parameter>\n</function>\n</tool_call><|im_end|>',
    messages: [
      ['final', 'Sum:'],
      [
        'call add',
        '{"a":12345678901234567890,"b":null,"text":"12\\n<b>\\"é\\"</b>\\n","flag":true,"list":[1, {"x": 2}],"other":{"k": 1}}',
      ],
    ],
  },
  {
    family: 'qwen-coder: values that are not what the schema says, and parallel calls',
    grammar: qwenCoderGrammar,
    output:
      '<tool_call>\n<function=add>\n<parameter=a>\nmany\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=apply_patch>\n<parameter=input>\n{"x": 1}\n</parameter>\n</function>\n</tool_call>',
    messages: [
      ['call add', '{"a":"many"}'],
      ['custom apply_patch', '{"x": 1}'],
    ],
  },
  {
    family: 'qwen-coder: no marker around the call, no parameters',
    grammar: qwenCoderGrammar,
    output: 'Go.\n<function=files.read>\n</function>\n',
    messages: [
      ['final', 'Go.'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'qwen-coder: cut inside a value',
    grammar: qwenCoderGrammar,
    output: '<tool_call>\n<function=add>\n<parameter=text>\nab',
    reason: 'length',
    messages: [['call add (cut)', '{"text":"ab']],
  },
  {
    family: 'qwen-coder: stopped inside a value',
    grammar: qwenCoderGrammar,
    output: '<tool_call>\n<function=add>\n<parameter=text>\nab',
    messages: [['call add', '{"text":"ab"}']],
  },
  {
    family: 'llama 3: a bare call',
    grammar: llama3Grammar,
    opened: '<|start_header_id|>assistant<|end_header_id|>\n\n',
    output: '{"name": "add", "parameters": {"a": "1"}}<|eot_id|>',
    messages: [['call add', '{"a": "1"}']],
  },
  {
    family: 'llama 3: several bare calls, then text',
    grammar: llama3Grammar,
    output:
      '{"type": "function", "name": "add", "parameters": {}}; {"name": "files.read", "parameters": {}}\nDone.',
    messages: [
      ['call add', '{}'],
      ['call files/read', '{}'],
      ['commentary', 'Done.'],
    ],
  },
  {
    family: 'llama 3: JSON that is an answer',
    grammar: llama3Grammar,
    output: '{"total": 3, "name": "add"}\n',
    messages: [['final', '{"total": 3, "name": "add"}\n']],
  },
  {
    family: 'llama 3: JSON with the name of something else',
    grammar: llama3Grammar,
    output: '{"name": "Bob", "parameters": {}} {',
    messages: [['final', '{"name": "Bob", "parameters": {}} {']],
  },
  {
    family: 'llama 3: JSON whose name is no text',
    grammar: llama3Grammar,
    output: '{"name": ["add"], "parameters": {}}',
    messages: [['final', '{"name": ["add"], "parameters": {}}']],
  },
  {
    family: 'llama 3: JSON that breaks off',
    grammar: llama3Grammar,
    output: ' {"name": "ad',
    reason: 'length',
    messages: [['final (cut)', '{"name": "ad']],
  },
  {
    family: 'llama 3: behind the tag, and code there',
    grammar: llama3Grammar,
    output:
      '<|python_tag|>{"name": "nope", "parameters": {"q": 1}}<|eom_id|><|python_tag|>print(1)<|eom_id|>',
    messages: [
      ['call nope', '{"q": 1}'],
      ['commentary', 'print(1)'],
    ],
  },
  {
    family: 'mistral: reasoning, calls with ids and without',
    grammar: mistralGrammar,
    opened: '[/INST]',
    output:
      '[THINK]Hm.[/THINK]Adding.[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]files.read[CALL_ID]abc123def[ARGS]{"p": " "} </s>',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Adding.'],
      ['call add', '{"a": 1}'],
      ['call files/read', '{"p": " "}'],
    ],
  },
  {
    family: 'mistral: the list of older ones',
    grammar: mistralGrammar,
    output:
      '[TOOL_CALLS] [{"name": "add", "arguments": {"a": [1]}, "id": "x"}, {"name": "add", "arguments": {}}]</s>',
    messages: [
      ['call add', '{"a": [1]}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'mistral: cut inside a name',
    grammar: mistralGrammar,
    output: 'Go.[TOOL_CALLS]ad',
    reason: 'length',
    messages: [
      ['final', 'Go.'],
      ['commentary (cut)', 'ad'],
    ],
  },
  {
    family: 'mistral: no marker before the arguments, free text',
    grammar: mistralGrammar,
    output: '[TOOL_CALLS]add{"a": 1}[TOOL_CALLS]apply_patch[ARGS]*** Begin Patch\n',
    messages: [
      ['call add', '{"a": 1}'],
      ['custom apply_patch', '*** Begin Patch'],
    ],
  },
  {
    family: 'deepseek V3.1: parallel calls',
    grammar: deepseekGrammar,
    opened: '<｜Assistant｜><think>',
    output: `Hm.</think>Well.${ds('calls▁begin')}${ds('call▁begin')}add${ds('sep')}{"a": 1}${ds('call▁end')}${ds('call▁begin')}nope${ds('sep')}${ds('call▁end')}${ds('calls▁end')}<｜end▁of▁sentence｜>`,
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Well.'],
      ['call add', '{"a": 1}'],
      ['call nope', '{}'],
    ],
  },
  {
    family: 'deepseek V3.1: cut inside arguments',
    grammar: deepseekGrammar,
    output: `${ds('calls▁begin')}${ds('call▁begin')}add${ds('sep')}{"a": `,
    reason: 'length',
    messages: [['call add (cut)', '{"a":']],
  },
  {
    family: 'DSML: values that say what they are',
    grammar: dsmlGrammar,
    opened: '<｜Assistant｜></think>',
    output:
      `Ok\n\n<${D}function_calls>\n<${D}invoke name="add">\n<${D}parameter name="a" string="false">1</${D}parameter>\n<${D}parameter name="text" string="true">5 "x"</${D}parameter>\n</${D}invoke>\n` +
      `<${D}invoke name="files.read">\n</${D}invoke>\n</${D}function_calls><｜end▁of▁sentence｜>`,
    messages: [
      ['final', 'Ok'],
      ['call add', '{"a":1,"text":"5 \\"x\\""}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'glm: typed values, none at all',
    grammar: glmGrammar,
    opened: '<|assistant|>\n<think></think>\n',
    output:
      'Ok.\n<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>text</arg_key>\n<arg_value> x\n</arg_value>\n</tool_call>\n<tool_call>files.read\n</tool_call><|observation|>',
    messages: [
      ['final', 'Ok.'],
      ['call add', '{"a":1,"text":" x\\n"}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'glm: a key without a value, reasoning without its end',
    grammar: glmGrammar,
    opened: '<|assistant|><think>',
    output:
      'Hm.\n<tool_call>add<arg_key>text</arg_key><arg_key>a</arg_key><arg_value>1</arg_value></tool_call>',
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{"text":"","a":1}'],
    ],
  },
  {
    family: 'kimi: parallel calls',
    grammar: kimiGrammar,
    opened: '<|im_assistant|>assistant<|im_middle|>',
    output: `<think>Hm.</think>Go.<|tool_calls_section_begin|>${call('functions.add:0', '{"a": 1}')}${call('functions.files.read:1', '{}')}<|tool_calls_section_end|><|im_end|>`,
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Go.'],
      ['call add', '{"a": 1}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'kimi: reasoning that calls end',
    grammar: kimiGrammar,
    opened: '<|im_assistant|>assistant<|im_middle|><think>',
    output: `Hm. <|tool_calls_section_begin|>${call('functions.add:0', '{}')}`,
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'minimax: several calls in a block',
    grammar: minimaxGrammar,
    opened: ']~b]ai\n<think>\n',
    output:
      'Hm.\n</think>\n\nOk.\n<minimax:tool_call>\n<invoke name="add">\n<parameter name="a">1</parameter>\n<parameter name="b">2.50</parameter>\n</invoke>\n<invoke name="add">\n</invoke>\n</minimax:tool_call>[e~[',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Ok.'],
      ['call add', '{"a":1,"b":2.50}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'gemma: reasoning and parallel calls',
    grammar: gemmaGrammar,
    opened: '<|turn>model\n',
    output:
      '<|channel>thought\nHm.\n<channel|>Ok.<|tool_call>call:add{a:1,text:<|"|>it is "5", {x}\n<|"|>,list:[1,<|"|>é<|"|>,{k:true}]}<tool_call|><|tool_call>call:files.read{}<tool_call|><|tool_response>',
    messages: [
      ['reasoning', 'Hm.'],
      ['final', 'Ok.'],
      ['call add', '{"a":1,"text":"it is \\"5\\", {x}\\n","list":[1,"é",{"k":true}]}'],
      ['call files/read', '{}'],
    ],
  },
  {
    family: 'gemma: reasoning that the prompt has closed',
    grammar: gemmaGrammar,
    opened: '<|turn>model\n<|channel>thought\n<channel|>',
    output: 'Hi.<turn|>',
    messages: [['final', 'Hi.']],
  },
  {
    family: 'gemma: stopped inside a string',
    grammar: gemmaGrammar,
    output: '<|tool_call>call:add{list:[<|"|>a',
    messages: [['call add', '{"list":["a"]}']],
  },
  {
    family: 'lfm: calls as Python has them',
    grammar: lfmGrammar,
    opened: im,
    output:
      "<|tool_call_start|>[add(a=1, text='it\\'s [\\n]', flag=True, list=[1, (2,), {'k': None}]), files.read()]<|tool_call_end|>Done.<|im_end|>",
    messages: [
      ['call add', '{"a":1,"text":"it\'s [\\n]","flag":true,"list":[1,[2],{"k":null}]}'],
      ['call files/read', '{}'],
      ['commentary', 'Done.'],
    ],
  },
  {
    family: 'lfm: calls as objects',
    grammar: lfmGrammar,
    output:
      '<|tool_call_start|>[{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": {}}]<|tool_call_end|>',
    messages: [
      ['call add', '{"a": 1}'],
      ['call add', '{}'],
    ],
  },
  {
    family: 'cohere: a list of calls',
    grammar: cohereGrammar,
    opened: '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>',
    output:
      '<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "add", "parameters": {"a": 1}}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>',
    messages: [
      ['reasoning', 'Hm.'],
      ['call add', '{"a": 1}'],
    ],
  },
  {
    family: 'cohere: an answer',
    grammar: cohereGrammar,
    output: '<|START_RESPONSE|>Hi.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>',
    messages: [['final', 'Hi.']],
  },
];

/** Joins adjacent texts, and leaves out which ids a message has. */
function joined(events: readonly OutputEvent[]): unknown[] {
  const result: OutputEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.kind === 'text' && last?.kind === 'text') last.text += event.text;
    else result.push({ ...event });
  }
  return result.map((event) =>
    event.kind === 'close' ? { kind: 'close', complete: event.complete } : event,
  );
}

/** Cuts a text at random places. */
const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });
function cutBy(sizes: readonly number[]): (text: string) => string[] {
  return (text) => {
    const parts: string[] = [];
    const characters = [...text];
    for (let at = 0, i = 0; at < characters.length; i++) {
      const size = sizes[i % sizes.length] ?? 1;
      parts.push(characters.slice(at, at + size).join(''));
      at += size;
    }
    return parts;
  };
}

describe.each(goldens)('$family', ({ grammar, opened = '', output, reason = 'stop', messages }) => {
  const tokenizer = new AnyTokens([...markersIn(grammar), '<｜Assistant｜>', '[/INST]', '<|assistant|>']);
  const begun = tokenizer.idsOf(opened);

  it('is read', () => {
    const run = parse(grammar, tokenizer, tokenizer.idsOf(output), { tools, opened: begun, reason });
    expect(run.messages.map(brief)).toEqual(messages);
  });

  it('is read the same whatever its tokens and chunks are, and every id belongs to one message', () => {
    fc.assert(
      fc.property(cuts, cuts, (sizes, chunks) => {
        const ids = tokenizer.idsOf(output, cutBy(sizes));
        const run = parse(grammar, tokenizer, ids, { tools, opened: begun, reason, chunks });
        expect(run.messages.map(brief)).toEqual(messages);
        expect(run.messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(ids.length);
        const last = run.messages.at(-1);
        const kept = last?.complete === false && 'name' in last.header ? last.sampled : 0;
        expect(run.messages.flatMap((message) => message.ids)).toEqual(
          [...begun, ...ids].slice(0, begun.length + ids.length - kept),
        );
        const whole = parse(grammar, tokenizer, ids, { tools, opened: begun, reason, chunks: [ids.length] });
        expect(joined(run.events)).toEqual(joined(whole.events));
      }),
      { numRuns: 60 },
    );
  });
});

describe('a vocabulary without the markers', () => {
  const noEnd = (text: string) =>
    text.replace(
      /<\|im_end\|>|<\|eot_id\|>|<\/s>|<｜end▁of▁sentence｜>|<\|observation\|>|\[e~\[|<\|END_OF_TURN_TOKEN\|>|<\|eom_id\|>/g,
      '',
    );
  const written = goldens.filter(
    ({ family }) =>
      !/cut inside a (?:value|name)|that is none|behind the tag|cohere|gemma|prompt has opened|reasoning that calls end|reasoning without its end/.test(
        family,
      ),
  );

  it.each(written)(
    'has them in text: $family',
    ({ grammar, output, reason = 'stop', opened = '', messages }) => {
      const tokenizer = new AnyTokens([
        '<|im_start|>',
        '<|start_header_id|>',
        '<|end_header_id|>',
        ']~b]',
        '<|im_assistant|>',
        '<|im_middle|>',
        '<｜Assistant｜>',
        '[/INST]',
        '<|assistant|>',
      ]);
      fc.assert(
        fc.property(cuts, (sizes) => {
          const ids = tokenizer.idsOf(noEnd(output), cutBy(sizes));
          const run = parse(grammar, tokenizer, ids, { tools, opened: tokenizer.idsOf(opened), reason });
          expect(run.messages.map(brief)).toEqual(messages);
        }),
        { numRuns: 40 },
      );
    },
  );
});

describe('garbage', () => {
  /** Their arguments are written by the parser, and are JSON whatever the model wrote. */
  const typed: TurnGrammar[] = [qwenCoderGrammar, dsmlGrammar, glmGrammar, minimaxGrammar, gemmaGrammar];
  const grammars = {
    hermesGrammar,
    qwenCoderGrammar,
    llama3Grammar,
    mistralGrammar,
    deepseekGrammar,
    dsmlGrammar,
    gemmaGrammar,
    lfmGrammar,
    glmGrammar,
    kimiGrammar,
    minimaxGrammar,
    cohereGrammar,
  };

  it.each(Object.entries(grammars))('never makes %s throw, and is counted exactly', (_, grammar) => {
    const markers = markersIn(grammar);
    const all = grammar.calls.flatMap(({ markers: own }) => own);
    const fragment = fc.oneof(
      fc.constantFrom(...markers, ...all, ...grammar.calls.map(({ open }) => open)),
      fc.constantFrom(
        '{"name": "add", ',
        '"arguments": ',
        '{"a": 1}',
        '}',
        '{',
        '[',
        ']',
        '"',
        '\\',
        ',',
        ':',
        'add',
        '\n',
        ' ',
        'x',
        '<',
        'null',
        '"name"',
        '\\u00',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    const controls = fc.constantFrom(
      [],
      markers,
      markers.filter((_marker, index) => index % 2 === 0),
    );
    const reasons = fc.constantFrom<FinishReason>('stop', 'length', 'abort');
    fc.assert(
      fc.property(
        fc.array(fragment, { maxLength: 25 }),
        controls,
        cuts,
        reasons,
        (parts, known, sizes, reason) => {
          const tokenizer = new AnyTokens(known);
          const ids = tokenizer.idsOf(parts.join(''), cutBy(sizes));
          const run = parse(grammar, tokenizer, ids, { tools, reason });
          const whole = parse(grammar, tokenizer, ids, { tools, reason, chunks: [ids.length || 1] });
          expect(joined(run.events)).toEqual(joined(whole.events));
          if (run.messages.length > 0) {
            expect(run.messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(ids.length);
          }
          for (const { header, text, complete } of run.messages) {
            if (typed.includes(grammar) && header.type === 'function_call' && complete) JSON.parse(text);
          }
          if (run.messages.every(({ complete }) => complete)) {
            expect(run.messages.flatMap((message) => message.ids)).toEqual(
              run.messages.length > 0 ? ids : [],
            );
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
