import { type OfferedTool } from './developer-message.js';
import { excerpt } from './excerpt.js';
import { type ParameterType } from './tool-types.js';

/** Tools that may run what they are given. Rather too many than too few. */
const COMMAND_TOOL =
  /shell|exec|bash|command|terminal|cmd|stdin|script|python|repl|eval|run|process|console/i;
/** Arguments that may be run, whatever the tool is called. */
const COMMAND_ARGUMENT =
  /^(cmds?|commands?|command_?line|shell_?command|scripts?|code|argv|args|input|chars|source|program)$/i;
/** Arguments that would be run even by a tool whose name gives nothing away. */
const PLAIN_COMMAND_ARGUMENT = /^(cmds?|commands?|command_?line|shell_?command|scripts?|code|argv)$/i;
const PATH_ARGUMENT = /dir|cwd|path|root|folder/i;
const TIME_ARGUMENT = /timeout|_ms$|millis|yield|wait|seconds/i;

/** What the arguments of one call are made of. */
export interface CallContext {
  /** The user's text. */
  readonly text: string;
  /** Number of the call within the user turn, from 1. */
  readonly number: number;
}

/** Whether a tool may run what it is given: it then gets a harmless echo and nothing of the user's words. */
export function isCommandTool(tool: OfferedTool): boolean {
  return COMMAND_TOOL.test(tool.name);
}

/**
 * The arguments of a call: a JSON object for a function tool, whatever its parameters were declared as, and free text
 * for a custom one.
 */
export function callArguments(tool: OfferedTool, context: CallContext): string {
  const commands = isCommandTool(tool);
  if (tool.custom) return commands ? echo(context) : `turnpike-${context.number}: ${words(context)}`;
  const value = sample(tool.parameters, '', { ...context, commands });
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return JSON.stringify(isObject ? value : {});
}

type Sampling = CallContext & { readonly commands: boolean };

function sample(type: ParameterType, name: string, sampling: Sampling): unknown {
  switch (type.kind) {
    case 'object':
      return Object.fromEntries(
        type.properties.flatMap((property) =>
          property.optional ? [] : [[property.name, sample(property.type, property.name, sampling)]],
        ),
      );
    case 'array':
      if (runs(name, sampling)) return argumentVector(type.items, name, sampling);
      return [sample(type.items, name, sampling)];
    case 'literals':
      return type.values[0] ?? '';
    case 'string':
    case 'any':
      return textFor(name, sampling);
    case 'number':
      return TIME_ARGUMENT.test(name) ? 10_000 : 1;
    case 'boolean':
      return false;
    case 'null':
      return null;
  }
}

/** A command as an array: its words where they are strings. */
function argumentVector(items: ParameterType, name: string, sampling: Sampling): unknown[] {
  if (items.kind === 'string' || items.kind === 'any') return echo(sampling).split(' ');
  return [sample(items, name, sampling)];
}

function textFor(name: string, sampling: Sampling): string {
  if (runs(name, sampling)) return echo(sampling);
  if (!sampling.commands) return words(sampling);
  return PATH_ARGUMENT.test(name) ? '.' : 'turnpike';
}

function runs(name: string, sampling: Sampling): boolean {
  return (sampling.commands ? COMMAND_ARGUMENT : PLAIN_COMMAND_ARGUMENT).test(name);
}

function echo(context: CallContext): string {
  return `echo turnpike-${context.number}`;
}

function words(context: CallContext): string {
  return excerpt(context.text, 40).trim() || 'turnpike';
}
