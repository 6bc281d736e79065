import {
  ApiError,
  offeredTools,
  quotable,
  TOOL_SEARCH,
  type ResponseRequest,
  type Tool,
} from '@turnpike/protocol';
import { namesOf, toolKey } from './tool-names.js';

type Choice = Exclude<ResponseRequest['toolChoice'], string>;

/**
 * A tool that has to be called must be one that the client runs and has declared: in this request, or earlier in the
 * chain with an item.
 * @param added tools that joined the chain as items
 * @throws ApiError invalid_value on `tool_choice`
 */
export function requireCallable({ toolChoice, tools }: ResponseRequest, added: readonly Tool[]): void {
  if (toolChoice === 'auto' || toolChoice === 'none') return;
  const offered = new Set(namesOf([...added, ...offeredTools(tools)]));
  if (toolChoice === 'required') {
    if (offered.size === 0) throw refused("'required' needs a tool that can be called");
    return;
  }
  for (const { type, name } of namedBy(toolChoice, offered)) {
    if (!offered.has(toolKey(type, name)))
      throw refused(`'${quotable(name)}' not found in 'tools' parameter`);
  }
}

/** The client tools that a choice names. A search is one when it is the client's. */
function namedBy(choice: Choice, offered: ReadonlySet<string>): { type: string; name: string }[] {
  const listed = choice.type === 'allowed_tools' ? (choice['tools'] as Choice[]) : [choice];
  const named = listed.flatMap((entry) => {
    const { type } = entry;
    if (type === TOOL_SEARCH) return offered.has(toolKey(type, type)) ? [{ type, name: type }] : [];
    const name = 'name' in entry ? entry.name : undefined;
    return CLIENT_TYPES.includes(type) && typeof name === 'string' ? [{ type, name }] : [];
  });
  const forced = choice.type !== 'allowed_tools' || choice['mode'] === 'required';
  if (named.length > 0 || !forced) return named;
  throw refused(`'${quotable(choice.type)}' needs a tool that this server does not host`);
}

/** Types of tools that the client runs and a choice names. */
const CLIENT_TYPES: readonly string[] = ['function', 'custom', 'namespace'];

function refused(reason: string): ApiError {
  return new ApiError('invalid_value', { param: 'tool_choice', message: `Tool choice ${reason}.` });
}
