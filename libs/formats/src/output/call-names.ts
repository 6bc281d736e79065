import { type Tool } from '@turnpike/protocol';
import { type CallHeader } from '../format.js';
import { recipientResolver } from '../harmony/tools.js';
import { FUNCTIONS, namespacesOf } from '../tools/namespaces.js';

/** What a name in a call stands for. */
export interface CallNames {
  /** Whether the client has any tools. */
  readonly any: boolean;
  /**
   * The call of a name: `X`, `functions.X`, or `N.X` for a namespace N. An unknown one is a function that does not exist, so
   * that the client can say so.
   */
  resolve(name: string): CallHeader;
  /** Whether a tool of that name was declared. */
  knows(name: string): boolean;
  /** The JSON Schema of what a call is given, when it is known. */
  parameters(call: CallHeader): unknown;
}

/** @param tools those that the client runs */
export function callNames(tools: readonly Tool[]): CallNames {
  const resolver = recipientResolver(tools);
  const namespaces = namespacesOf(tools);
  const declared = new Map(
    namespaces.flatMap(({ name: namespace, tools: members }) =>
      members.map((tool) => [`${namespace}.${tool.name}`, tool] as const),
    ),
  );
  const resolve = (written: string): CallHeader => {
    const name = written.trim();
    return resolver(name) ?? resolver(`${FUNCTIONS}.${name}`) ?? { type: 'function_call', name };
  };
  const declaredTool = ({ name, namespace }: CallHeader) => declared.get(`${namespace ?? FUNCTIONS}.${name}`);
  return {
    any: namespaces.length > 0,
    resolve,
    knows: (name) => declaredTool(resolve(name)) !== undefined,
    parameters: (call) => {
      const tool = declaredTool(call);
      if (tool?.type === 'custom') return FREE_TEXT_PARAMETERS;
      return tool?.parameters;
    },
  };
}

/** How a tool that takes free text is declared to models that know functions alone. */
const FREE_TEXT_PARAMETERS = { type: 'object', properties: { input: { type: 'string' } } };
