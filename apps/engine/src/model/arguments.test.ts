import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { callArguments } from './arguments.js';
import { type OfferedTool } from './developer-message.js';
import { type ParameterType } from './tool-types.js';

const types = fc.letrec<{ type: ParameterType; object: ParameterType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<ParameterType>(
      { kind: 'string' },
      { kind: 'number' },
      { kind: 'boolean' },
      { kind: 'null' },
      { kind: 'any' },
      { kind: 'literals', values: ['x', 'y'] },
    ),
    fc.record({ kind: fc.constant('array' as const), items: tie('type') }),
    tie('object'),
  ),
  object: fc.record({
    kind: fc.constant('object' as const),
    properties: fc.uniqueArray(
      fc.record({
        name: fc.constantFrom(
          'city',
          'cmd',
          'command',
          'path',
          'code',
          'text',
          'timeout_ms',
          'input',
          'chars',
        ),
        optional: fc.boolean(),
        type: tie('type'),
      }),
      { selector: ({ name }) => name, maxLength: 5 },
    ),
  }),
}));

function fits(value: unknown, type: ParameterType): boolean {
  switch (type.kind) {
    case 'any':
      return value !== undefined;
    case 'null':
      return value === null;
    case 'literals':
      return type.values.includes(value as string);
    case 'array':
      return Array.isArray(value) && value.every((item) => fits(item, type.items));
    case 'object': {
      const known = type.properties.map(({ name }) => name);
      const fields = Object.entries(value as object);
      return (
        fields.every(([name]) => known.includes(name)) &&
        type.properties.every(({ name, optional, type: inner }) => {
          const field = fields.find(([key]) => key === name);
          return field ? fits(field[1], inner) : optional;
        })
      );
    }
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type.kind;
  }
}

function strings(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(strings) : [];
}

const tool = (name: string, parameters: ParameterType, custom = false): OfferedTool => ({
  recipient: `functions.${name}`,
  name,
  custom,
  parameters,
});

const EVIL = 'rm -rf / --no-preserve-root';
const COMMAND_TOOLS = [
  'shell',
  'exec_command',
  'bash',
  'run_terminal_cmd',
  'local_shell',
  'write_stdin',
  'python',
  'execute',
];
const HARMLESS = /^(echo turnpike-\d+|echo|turnpike-\d+|turnpike|\.|x)$/;

describe('callArguments', () => {
  it('gives every declared type a value of it', () => {
    fc.assert(
      fc.property(
        types.object,
        fc.string(),
        fc.constantFrom('get_weather', 'shell'),
        (parameters, text, name) => {
          const value: unknown = JSON.parse(callArguments(tool(name, parameters), { text, number: 1 }));
          expect(fits(value, parameters)).toBe(true);
        },
      ),
    );
  });

  it('never gives a command tool anything but an echo', () => {
    fc.assert(
      fc.property(
        types.object,
        fc.constantFrom(...COMMAND_TOOLS),
        fc.integer({ min: 1, max: 99 }),
        (parameters, name, number) => {
          const value: unknown = JSON.parse(callArguments(tool(name, parameters), { text: EVIL, number }));
          for (const text of strings(value)) expect(text).toMatch(HARMLESS);
        },
      ),
    );
    for (const name of COMMAND_TOOLS) {
      expect(callArguments(tool(name, { kind: 'string' }, true), { text: EVIL, number: 2 })).toBe(
        'echo turnpike-2',
      );
    }
  });

  it('writes a command in the type that is declared', () => {
    const command = (type: ParameterType, name = 'command') =>
      callArguments(tool('shell', { kind: 'object', properties: [{ name, optional: false, type }] }), {
        text: EVIL,
        number: 3,
      });
    expect(command({ kind: 'string' })).toBe('{"command":"echo turnpike-3"}');
    expect(command({ kind: 'array', items: { kind: 'string' } })).toBe('{"command":["echo","turnpike-3"]}');
    expect(command({ kind: 'string' }, 'workdir')).toBe('{"workdir":"."}');
  });

  it('does not run the words of the user through a tool with an innocent name either', () => {
    const parameters: ParameterType = {
      kind: 'object',
      properties: [{ name: 'cmd', optional: false, type: { kind: 'string' } }],
    };
    expect(callArguments(tool('helper', parameters), { text: EVIL, number: 1 })).toBe(
      '{"cmd":"echo turnpike-1"}',
    );
  });

  it('are an object for parameters that are not declared as one', () => {
    for (const parameters of [
      { kind: 'any' },
      { kind: 'string' },
      { kind: 'array', items: { kind: 'any' } },
    ] as const)
      expect(callArguments(tool('lookup', parameters), { text: 'x', number: 1 })).toBe('{}');
  });

  it('uses the words of the user elsewhere, and free text for a custom tool', () => {
    const parameters: ParameterType = {
      kind: 'object',
      properties: [{ name: 'city', optional: false, type: { kind: 'string' } }],
    };
    expect(callArguments(tool('get_weather', parameters), { text: 'Weather in Paris?', number: 1 })).toBe(
      '{"city":"Weather in Paris?"}',
    );
    expect(callArguments(tool('note', { kind: 'string' }, true), { text: 'Remember milk', number: 2 })).toBe(
      'turnpike-2: Remember milk',
    );
  });
});
