import { offeredTools, type ResponseRequest, type Tool } from '@turnpike/protocol';
import { callableTools, type CallableTool } from './tool-names.js';
import { entriesOf, meantBy } from './tool-entries.js';

/** Which calls an answer may and must hold. */
export interface ToolRule {
  /** Whether there has to be a call. */
  readonly required: boolean;
  /** The calls that may be delivered; `any` also stands for names that nobody declared, which the client answers. */
  readonly allowed: readonly CallableTool[] | 'any';
  /** Most calls of one response. */
  readonly maxCalls: number;
}

/**
 * The rule that a request's tools, `tool_choice`, `parallel_tool_calls` and `max_tool_calls` make together. The choice
 * is one that {@link requireCallable} has let pass.
 * @param added tools that joined the chain as items
 * @param made calls that the response has made, and had answered, before: it has to make none any more
 */
export function toolRule(request: ResponseRequest, added: readonly Tool[], made = 0): ToolRule {
  const rule = ruleOfFirst(request, added);
  if (made === 0) return rule;
  const left = (request.maxToolCalls ?? Infinity) - made;
  return { ...rule, required: false, maxCalls: Math.min(rule.maxCalls, left) };
}

function ruleOfFirst(request: ResponseRequest, added: readonly Tool[]): ToolRule {
  const { toolChoice, tools, parallelToolCalls, maxToolCalls } = request;
  const declared = callableTools([...added, ...offeredTools(tools)]);
  const maxCalls = Math.min(parallelToolCalls ? Infinity : 1, maxToolCalls ?? Infinity);
  if (toolChoice === 'none' || declared.length === 0) return { required: false, allowed: [], maxCalls };
  if (toolChoice === 'auto') return { required: false, allowed: 'any', maxCalls };
  if (toolChoice === 'required') return { required: true, allowed: declared, maxCalls };
  const named = new Set(entriesOf(toolChoice).flatMap((entry) => meantBy(entry, declared)));
  const allowed = declared.filter((tool) => named.has(tool));
  const required = toolChoice.type !== 'allowed_tools' || toolChoice['mode'] === 'required';
  return { required, allowed, maxCalls };
}
