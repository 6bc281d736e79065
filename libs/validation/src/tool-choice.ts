import {
  ApiError,
  offeredTools,
  quotable,
  TOOL_SEARCH,
  type ResponseRequest,
  type Tool,
} from '@turnpike/protocol';
import { entriesOf, meantBy, type ChoiceEntry } from './tool-entries.js';
import { callableTools, namesOf, toolKey, type CallableTool } from './tool-names.js';

type Choice = Exclude<ResponseRequest['toolChoice'], string>;

/**
 * A tool that has to be called must be one that the client runs and has declared: in this request, or earlier in the
 * chain with an item.
 * @param added tools that joined the chain as items
 * @throws ApiError invalid_value on `tool_choice`
 */
export function requireCallable({ toolChoice, tools }: ResponseRequest, added: readonly Tool[]): void {
  if (toolChoice === 'auto' || toolChoice === 'none') return;
  const all = [...added, ...offeredTools(tools)];
  const offered = new Set(namesOf(all));
  if (toolChoice === 'required') {
    if (offered.size === 0) throw refused("'required' needs a tool that can be called");
    return;
  }
  const declared = callableTools(all);
  for (const entry of namedBy(toolChoice, offered)) {
    if (entry.type !== 'namespace') requireOne(entry, declared);
    else if (!offered.has(toolKey(entry.type, entry.name))) throw notFound(entry.name);
  }
}

interface NamedEntry extends ChoiceEntry {
  readonly name: string;
}

function requireOne(entry: NamedEntry, declared: readonly CallableTool[]): void {
  const { name, namespace } = entry;
  const meant = meantBy(entry, declared);
  if (meant.length === 0) throw notFound(typeof namespace === 'string' ? `${namespace}.${name}` : name);
  const namespaces = new Set(meant.map((tool) => tool.namespace));
  if (namespaces.size === 1) return;
  throw refused(
    `'${quotable(name)}' is ambiguous: several namespaces have it, so that 'namespace' has to be said`,
  );
}

/** The client tools that a choice names. A search is one when it is the client's. */
function namedBy(choice: Choice, offered: ReadonlySet<string>): NamedEntry[] {
  const named = entriesOf(choice).flatMap((entry): NamedEntry[] => {
    const { type, name } = entry;
    if (type === TOOL_SEARCH) return offered.has(toolKey(type, type)) ? [{ type, name: type }] : [];
    return CLIENT_TYPES.includes(type) && typeof name === 'string' ? [{ ...entry, name }] : [];
  });
  const forced = choice.type !== 'allowed_tools' || choice['mode'] === 'required';
  if (named.length > 0 || !forced) return named;
  if (choice.type === 'allowed_tools') throw refused("'allowed_tools' names no tool that can be called");
  throw refused(`'${quotable(choice.type)}' needs a tool that this server does not host`);
}

/** Types of tools that the client runs and a choice names. */
const CLIENT_TYPES: readonly string[] = ['function', 'custom', 'namespace'];

function notFound(name: string): ApiError {
  return refused(`'${quotable(name)}' not found in 'tools' parameter`);
}

function refused(reason: string): ApiError {
  return new ApiError('invalid_value', { param: 'tool_choice', message: `Tool choice ${reason}.` });
}
