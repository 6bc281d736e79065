import {
  isCallable,
  isClientSearch,
  isNamespace,
  TOOL_SEARCH,
  type CustomTool,
  type FunctionTool,
  type Tool,
} from '@turnpike/protocol';
import type { CallTarget } from '../format.js';

/** What stands between a namespace and a name: names of functions have no dots. */
const SEPARATOR = '__';
/** What a function without parameters takes. */
const NO_PARAMETERS = { type: 'object', properties: {} };
/** The one parameter of a function that stands for a tool of free text. */
const FREE_TEXT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };

/** The name that a tool has among the functions of a request. */
export function functionName({ name, namespace }: { name: string; namespace?: string | undefined }): string {
  return namespace === undefined ? name : `${namespace}${SEPARATOR}${name}`;
}

/** Tools as the functions of a request, each as JSON text. Those of other kinds are not offered. */
export function chatFunctions(tools: readonly Tool[]): string[] {
  return functionsOf(tools).map((fields) => JSON.stringify({ type: 'function', function: fields }));
}

/** Tools as functions: name, description and parameters. */
export function functionsOf(tools: readonly Tool[]): Record<string, unknown>[] {
  return entriesOf(tools).map(({ target, tool }) => {
    const { description } = tool;
    const name = functionName(target);
    if (!isFunction(tool)) {
      const told = [description ?? '', grammarOf(tool)].filter((text) => text !== '').join('\n\n');
      return { name, description: told === '' ? undefined : told, parameters: FREE_TEXT };
    }
    const strict = tool.strict === true ? true : undefined;
    return { name, description, parameters: tool.parameters ?? NO_PARAMETERS, strict };
  });
}

/** The tools behind the names of the functions. Of two with one name it is the first. */
export function chatTargets(tools: readonly Tool[]): ReadonlyMap<string, CallTarget> {
  const targets = new Map<string, CallTarget>();
  for (const { target } of entriesOf(tools)) {
    const name = functionName(target);
    if (!targets.has(name)) targets.set(name, target);
  }
  return targets;
}

type Offered = FunctionTool | CustomTool;

interface Entry {
  readonly target: CallTarget;
  readonly tool: Offered;
}

function entriesOf(tools: readonly Tool[]): Entry[] {
  return tools.flatMap((tool): Entry[] => {
    if (isNamespace(tool)) {
      return tool.tools.filter(isCallable).map((member) => {
        const target = { type: member.type, name: member.name, namespace: tool.name };
        return { target, tool: member };
      });
    }
    if (isClientSearch(tool)) {
      const { description, parameters } = tool;
      const search: FunctionTool = { type: 'function', name: TOOL_SEARCH, description, parameters };
      return [{ target: { type: TOOL_SEARCH, name: TOOL_SEARCH }, tool: search }];
    }
    return isCallable(tool) ? [{ target: { type: tool.type, name: tool.name }, tool }] : [];
  });
}

function isFunction(tool: Offered): tool is FunctionTool {
  return tool.type === 'function';
}

/** A grammar is told in words: servers of this API bind nothing to it. */
function grammarOf({ format }: CustomTool): string {
  return format?.type === 'grammar'
    ? `The input has to match this ${format.syntax} grammar:\n${format.definition}`
    : '';
}
