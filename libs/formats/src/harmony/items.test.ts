import { describe, expect, it } from '@jest/globals';
import { type Item, type MessageItem } from '@turnpike/protocol';
import { type OpenCalls } from '../format.js';
import { harmony } from './harmony.js';
import { itemSegmentKind } from '../spoken/items.js';
import { itemPieces } from './items.js';
import { messagePieces } from './message.js';
import { encodePieces, idsOf, written } from './test-support.js';

const calls: OpenCalls = new Map([
  ['c1', { name: 'lookup-weather' }],
  ['c2', { name: 'read', namespace: 'files' }],
]);

const text = (role: MessageItem['role'], ...texts: string[]): MessageItem => ({
  type: 'message',
  role,
  content: texts.map((part) => ({ type: 'input_text', text: part })),
});

const cases: [string, Item, string][] = [
  ['a user message', text('user', 'Hi', ' there'), '<|start|>user<|message|>Hi there<|end|>'],
  [
    'a developer message',
    text('developer', 'Be brief.'),
    '<|start|>developer<|message|># Instructions\n\nBe brief.<|end|>',
  ],
  ['a system message', text('system', 'A', 'B'), '<|start|>developer<|message|># Instructions\n\nAB<|end|>'],
  [
    'images and files',
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'See ' },
        { type: 'input_image', image_url: 'data:,' },
        { type: 'input_file', file_id: 'f' },
        { type: 'input_text', text: ' this' },
      ],
    },
    '<|start|>user<|message|>See <|reserved_200013|> this<|end|>',
  ],
  [
    'a developer message with an image',
    {
      ...text('developer'),
      content: [
        { type: 'input_text', text: 'Like' },
        { type: 'input_text', text: ' this: ' },
        { type: 'input_image', image_url: 'data:,' },
      ],
    },
    '<|start|>developer<|message|># Instructions\n\nLike this: <|reserved_200013|><|end|>',
  ],
  [
    'a final answer',
    {
      ...text('assistant'),
      content: [{ type: 'output_text', text: 'Done.', annotations: [], logprobs: [] }],
    },
    '<|start|>assistant<|channel|>final<|message|>Done.<|end|>',
  ],
  [
    'a refusal',
    { ...text('assistant'), content: [{ type: 'refusal', refusal: 'No.' }], phase: 'final_answer' },
    '<|start|>assistant<|channel|>final<|message|>No.<|end|>',
  ],
  [
    'a note on the way',
    { ...text('assistant', 'Looking.'), phase: 'commentary' },
    '<|start|>assistant<|channel|>commentary<|message|>Looking.<|end|>',
  ],
  [
    'an answer cut short',
    { ...text('assistant', 'Do'), status: 'incomplete' },
    '<|start|>assistant<|channel|>final<|message|>Do<|end|>',
  ],
  [
    'reasoning',
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    '<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>',
  ],
  [
    'reasoning that is only a summary',
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    '',
  ],
  ['reasoning without parts', { type: 'reasoning', summary: [], content: [] }, ''],
  [
    'a function call',
    { type: 'function_call', call_id: 'c1', name: 'lookup-weather', arguments: '{"a": 1}' },
    '<|start|>assistant to=functions.lookup-weather<|channel|>commentary <|constrain|>json<|message|>{"a": 1}<|call|>',
  ],
  [
    'a function call in a namespace',
    { type: 'function_call', call_id: 'c2', namespace: 'files', name: 'read', arguments: '{}' },
    '<|start|>assistant to=files.read<|channel|>commentary <|constrain|>json<|message|>{}<|call|>',
  ],
  [
    'a custom tool call',
    { type: 'custom_tool_call', call_id: 'c3', name: 'apply_patch', input: '*** Begin' },
    '<|start|>assistant to=functions.apply_patch<|channel|>commentary<|message|>*** Begin<|call|>',
  ],
  [
    'a call cut short',
    { type: 'function_call', call_id: 'c4', name: 'f', arguments: '{"a', status: 'incomplete' },
    '',
  ],
  [
    'a function output',
    { type: 'function_call_output', call_id: 'c1', output: 'sunny' },
    '<|start|>functions.lookup-weather to=assistant<|channel|>commentary<|message|>sunny<|end|>',
  ],
  [
    'an output in parts',
    {
      type: 'custom_tool_call_output',
      call_id: 'c2',
      output: [
        { type: 'input_text', text: 'one' },
        { type: 'input_image' },
        { type: 'input_text', text: 'two' },
      ],
    },
    '<|start|>files.read to=assistant<|channel|>commentary<|message|>one<|reserved_200013|>two<|end|>',
  ],
  [
    'an output of an unknown call',
    { type: 'function_call_output', call_id: '?', output: 'x' },
    '<|start|>tool to=assistant<|channel|>commentary<|message|>x<|end|>',
  ],
  [
    'additional tools',
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'ping' }] },
    '<|start|>developer<|message|># Tools\n\n## functions\n\nnamespace functions {\n\n' +
      'type ping = () => any;\n\n} // namespace functions<|end|>',
  ],
  [
    'additional hosted tools',
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] },
    '',
  ],
];

describe('Harmony items', () => {
  it.each(cases)('renders %s', (_, item, expected) => {
    const pieces = itemPieces(item, calls);
    expect(written(pieces)).toBe(expected);
    // Every mark is a control id: none is spelled as text.
    expect(pieces.filter((piece) => typeof piece === 'string' && piece.includes('<|'))).toEqual([]);
  });

  it('renders a tool loop to the ids of the whole text', () => {
    const pieces = [
      ...messagePieces({ author: 'user', content: ['What is the weather in SF?'] }),
      ...messagePieces({ author: 'assistant', channel: 'analysis', content: ['Use “lookup_weather”.'] }),
      ...itemPieces(
        { type: 'function_call', call_id: 'c', name: 'w', arguments: '{"location": "SF"}' },
        calls,
      ),
      ...messagePieces({ author: 'functions.w', content: ['{"temperature": 20}'] }),
    ];
    expect(encodePieces(pieces)).toEqual(
      idsOf(
        '<|start|>user<|message|>What is the weather in SF?<|end|>' +
          '<|start|>assistant<|channel|>analysis<|message|>Use “lookup_weather”.<|end|>' +
          '<|start|>assistant to=functions.w<|channel|>commentary <|constrain|>json<|message|>{"location": "SF"}<|call|>' +
          '<|start|>functions.w<|message|>{"temperature": 20}<|end|>',
      ),
    );
  });

  it('tells reasoning, answers and user turns apart', () => {
    const kinds = cases.map(([name, item]) => [name, itemSegmentKind(item)]);
    expect(Object.fromEntries(kinds)).toMatchObject({
      'a user message': 'user',
      'images and files': 'user',
      'a developer message': 'other',
      'a system message': 'other',
      'a final answer': 'answer',
      'a refusal': 'answer',
      'a note on the way': 'other',
      reasoning: 'reasoning',
      'a function call': 'other',
      'a function output': 'other',
      'additional tools': 'other',
    });
  });

  it('are followed by an assistant start, and sampling ends at two ids', () => {
    expect(written(harmony().generationPrompt(undefined))).toBe('<|start|>assistant');
    expect(written(harmony().stopIds)).toBe('<|return|><|call|>');
  });
});
