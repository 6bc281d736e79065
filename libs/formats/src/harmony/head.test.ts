import { describe, expect, it } from '@jest/globals';
import { type FunctionTool, type NamespaceTool, type Tool } from '@turnpike/protocol';
import { type HeadSettings } from '../format.js';
import { developerText, headPieces, systemText } from './head.js';
import { harmony } from './harmony.js';
import { messagePieces } from './message.js';
import { encodePieces, idsOf, written } from './test-support.js';
import { namespacesOf } from '../tools/namespaces.js';
import { toolsSection } from './tools.js';

const IDENTITY = 'You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n';
const VALID_CHANNELS =
  '# Valid channels: analysis, commentary, final. Channel must be included for every message.';

const user = (text: string) => messagePieces({ author: 'user', content: [text] });
const format = { type: 'string', enum: ['celsius', 'fahrenheit'], default: 'celsius' };

const weatherTools: FunctionTool[] = [
  { type: 'function', name: 'get_location', description: 'Gets the location of the user.' },
  {
    type: 'function',
    name: 'get_current_weather',
    description: 'Gets the current weather in the provided location.',
    parameters: {
      type: 'object',
      properties: {
        location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
        format,
      },
      required: ['location'],
    },
  },
  {
    type: 'function',
    name: 'get_multiple_weathers',
    description: 'Gets the current weather in the provided list of locations.',
    parameters: {
      type: 'object',
      properties: {
        locations: {
          type: 'array',
          items: { type: 'string' },
          description: 'List of city and state, e.g. ["San Francisco, CA", "New York, NY"]',
        },
        format,
      },
      required: ['locations'],
    },
  },
  {
    type: 'function',
    name: 'kitchensink',
    description: 'A function with various complex schemas.',
    parameters: {
      description: 'params object',
      type: 'object',
      properties: {
        string: { type: 'string', title: 'STRING', description: 'A string', examples: ['hello', 'world'] },
        string_nullable: {
          type: 'string',
          nullable: true,
          description: 'A nullable string',
          default: 'the default',
        },
        string_enum: { type: 'string', enum: ['a', 'b', 'c'] },
        oneof_string_or_number: {
          oneOf: [
            { type: 'string', default: 'default_string_in_oneof' },
            { type: 'number', description: 'numbers can happen too' },
          ],
          description: 'a oneof',
          default: 20,
        },
      },
    },
  },
];

const weatherSection = [
  '## functions\n\nnamespace functions {\n',
  '// Gets the location of the user.',
  'type get_location = () => any;\n',
  '// Gets the current weather in the provided location.',
  'type get_current_weather = (_: {',
  '// The city and state, e.g. San Francisco, CA',
  'location: string,',
  'format?: "celsius" | "fahrenheit", // default: celsius',
  '}) => any;\n',
  '// Gets the current weather in the provided list of locations.',
  'type get_multiple_weathers = (_: {',
  '// List of city and state, e.g. ["San Francisco, CA", "New York, NY"]',
  'locations: string[],',
  'format?: "celsius" | "fahrenheit", // default: celsius',
  '}) => any;\n',
  '// A function with various complex schemas.',
  'type kitchensink = (_: // params object',
  '{',
  '// STRING',
  '//',
  '// A string',
  '// Examples:',
  '// - "hello"',
  '// - "world"',
  'string?: string,',
  '// A nullable string',
  'string_nullable?: string | null, // default: "the default"',
  'string_enum?: "a" | "b" | "c",',
  '// a oneof',
  '// default: 20',
  'oneof_string_or_number?:',
  ' | string // default: "default_string_in_oneof"',
  ' | number // numbers can happen too',
  ',',
  '}) => any;\n',
  '} // namespace functions',
].join('\n');

/** Prompt for a head and one user message. */
function prompt(settings: Partial<HeadSettings>, text: string): number[] {
  const pieces = [...headPieces({ tools: [], ...settings }), ...user(text)];
  return [...encodePieces(pieces), ...harmony().generationPrompt(undefined)];
}

describe('the head of a Harmony prompt', () => {
  it.each([
    ['low', 'low'],
    ['none', 'low'],
    ['minimal', 'low'],
    [undefined, 'medium'],
    ['medium', 'medium'],
    ['something new', 'medium'],
    ['high', 'high'],
    ['xhigh', 'high'],
    ['max', 'high'],
  ])('is a system message alone without instructions and tools (effort %s)', (reasoningEffort, told) => {
    expect(prompt({ reasoningEffort }, 'What is 2 + 2?')).toEqual(
      idsOf(
        `<|start|>system<|message|>${IDENTITY}\nReasoning: ${told}\n\n${VALID_CHANNELS}<|end|>` +
          '<|start|>user<|message|>What is 2 + 2?<|end|><|start|>assistant',
      ),
    );
  });

  it('puts instructions into a developer message', () => {
    const text = "Answer the user's questions like a robot.";
    expect(prompt({ reasoningEffort: 'high', instructions: text }, 'Who are you?')).toEqual(
      idsOf(
        `<|start|>system<|message|>${IDENTITY}\nReasoning: high\n\n${VALID_CHANNELS}<|end|>` +
          `<|start|>developer<|message|># Instructions\n\n${text}<|end|>` +
          '<|start|>user<|message|>Who are you?<|end|><|start|>assistant',
      ),
    );
    expect(headPieces({ tools: [], instructions: '' })).toEqual(headPieces({ tools: [] }));
  });

  it('declares functions after the instructions and names their channel', () => {
    const settings = {
      date: '2025-06-28',
      reasoningEffort: 'high',
      instructions: 'Always respond in riddles',
    };
    expect(prompt({ ...settings, tools: weatherTools }, 'What is the weather like in SF?')).toEqual(
      idsOf(
        `<|start|>system<|message|>${IDENTITY}Current date: 2025-06-28\n\nReasoning: high\n\n${VALID_CHANNELS}\n` +
          "Calls to these tools must go to the commentary channel: 'functions'.<|end|>" +
          `<|start|>developer<|message|># Instructions\n\nAlways respond in riddles\n\n# Tools\n\n${weatherSection}<|end|>` +
          '<|start|>user<|message|>What is the weather like in SF?<|end|><|start|>assistant',
      ),
    );
  });

  it('describes a response format last', () => {
    const schema = { type: 'object', properties: { items: { type: 'array' } } };
    const responseFormat = { name: 'shopping_list', description: 'What to buy.\nNo sweets.', schema };
    expect(developerText({ instructions: 'Be brief.', tools: [], responseFormat })).toBe(
      '# Instructions\n\nBe brief.\n\n# Response Formats\n\n## shopping_list\n\n// What to buy.\n// No sweets.\n' +
        '{"type":"object","properties":{"items":{"type":"array"}}}',
    );
    expect(developerText({ tools: [], responseFormat: { name: 'x', schema: {} } })).toBe(
      '# Response Formats\n\n## x\n\n{}',
    );
  });

  it('can limit the channels', () => {
    expect(systemText({ channels: ['analysis', 'final'] })).toBe(
      `${IDENTITY}\nReasoning: medium\n\n# Valid channels: analysis, final. Channel must be included for every message.`,
    );
  });

  it('shows tools that the model knows from training in the system message, before its channels', () => {
    const cursor = { type: 'number', default: -1 };
    const builtIn = namespacesOf([
      {
        type: 'namespace',
        name: 'browser',
        description: 'Reads pages.\nQuote little.',
        tools: [
          {
            type: 'function',
            name: 'search',
            description: 'Looks for `query`.',
            parameters: {
              type: 'object',
              properties: { query: { type: 'string' }, topn: { type: 'number', default: 10 } },
              required: ['query'],
            },
          },
          {
            type: 'function',
            name: 'open',
            parameters: {
              type: 'object',
              properties: { id: { type: ['number', 'string'], default: -1 }, cursor },
            },
          },
        ],
      },
    ]);
    expect(systemText({ date: '2025-06-28', builtIn })).toBe(
      `${IDENTITY}Current date: 2025-06-28\n\nReasoning: medium\n\n# Tools\n\n## browser\n\n` +
        '// Reads pages.\n// Quote little.\nnamespace browser {\n\n' +
        '// Looks for `query`.\ntype search = (_: {\nquery: string,\ntopn?: number, // default: 10\n}) => any;\n\n' +
        'type open = (_: {\nid?: number | string, // default: -1\ncursor?: number, // default: -1\n}) => any;\n\n' +
        `} // namespace browser\n\n${VALID_CHANNELS}`,
    );
  });

  it('skips hosted tools and namespaces without tools', () => {
    const tools: Tool[] = [{ type: 'web_search' }, { type: 'namespace', name: 'empty', tools: [] }];
    expect(headPieces({ tools })).toEqual(headPieces({ tools: [] }));
  });
});

describe('the tools section', () => {
  it('declares a custom tool as a function of free text', () => {
    const tools: Tool[] = [
      { type: 'custom', name: 'apply_patch', description: 'Edits files.' },
      {
        type: 'custom',
        name: 'sql',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: SELECT\nSELECT: "select"\n' },
      },
      { type: 'custom', name: 'zip', format: { type: 'grammar', syntax: 'regex', definition: '[0-9]{5}' } },
    ];
    expect(toolsSection(namespacesOf(tools))).toBe(
      [
        '# Tools\n\n## functions\n\nnamespace functions {\n',
        '// Edits files.',
        '// The input is free text, not JSON.',
        'type apply_patch = (_: string) => any;\n',
        '// The input is free text, not JSON.',
        '// It follows this Lark grammar:',
        '// start: SELECT',
        '// SELECT: "select"',
        'type sql = (_: string) => any;\n',
        '// The input is free text, not JSON.',
        '// It matches this regular expression:',
        '// [0-9]{5}',
        'type zip = (_: string) => any;\n',
        '} // namespace functions',
      ].join('\n'),
    );
    expect(written(headPieces({ tools }))).toContain("commentary channel: 'functions'");
  });

  it('sorts namespaces by name, joins those of one name, and keeps tool names as they are', () => {
    const files: NamespaceTool = {
      type: 'namespace',
      name: 'files',
      description: 'Works on files.\nPaths are absolute.',
      tools: [{ type: 'function', name: 'read-file' }],
    };
    const more: NamespaceTool = {
      type: 'namespace',
      name: 'files',
      tools: [{ type: 'custom', name: 'v2.write' }],
    };
    const tools: Tool[] = [
      { type: 'function', name: 'ping', description: 'Pings.\r\n\r\nOften.' },
      files,
      more,
    ];
    expect(toolsSection(namespacesOf(tools))).toBe(
      [
        '# Tools\n\n## files\n',
        '// Works on files.',
        '// Paths are absolute.',
        'namespace files {\n',
        'type read-file = () => any;\n',
        '// The input is free text, not JSON.',
        'type v2.write = (_: string) => any;\n',
        '} // namespace files\n\n## functions\n\nnamespace functions {\n',
        '// Pings.',
        '// ',
        '// Often.',
        'type ping = () => any;\n',
        '} // namespace functions',
      ].join('\n'),
    );
    expect(files.tools).toHaveLength(1);
    expect(written(headPieces({ tools: [files] }))).not.toContain("'functions'");
  });
});
