import {
  isCallable,
  isClientSearch,
  isNamespace,
  TOOL_SEARCH,
  type CustomTool,
  type FunctionTool,
  type Tool,
  type ToolSearchTool,
} from '@turnpike/protocol';

/** Where tools go that were not declared inside a namespace. */
export const FUNCTIONS = 'functions';

/** A group of tools under one name; the model addresses them as `NAME.TOOL`. */
export interface Namespace {
  name: string;
  description?: string | undefined;
  tools: Declared[];
}

/** A tool as a namespace declares it; a search for tools is declared like a function. */
export type Declared = FunctionTool | CustomTool | (ToolSearchTool & { name: typeof TOOL_SEARCH });

/**
 * The namespaces of a tool list, sorted by name; hosted tools and namespaces without tools are left out. The list is one
 * that the model may see whole, as `offeredTools` makes it.
 */
export function namespacesOf(tools: readonly Tool[]): Namespace[] {
  const byName = new Map<string, Namespace>();
  const add = (name: string, description: string | undefined, members: Namespace['tools']): void => {
    const known = byName.get(name);
    if (known === undefined) byName.set(name, { name, description, tools: [...members] });
    else for (const member of members) known.tools.push(member);
  };
  for (const tool of tools) {
    if (isCallable(tool)) add(FUNCTIONS, undefined, [tool]);
    else if (isClientSearch(tool)) add(FUNCTIONS, undefined, [{ ...tool, name: TOOL_SEARCH }]);
    else if (isNamespace(tool)) {
      const members = tool.tools.filter(isCallable);
      if (members.length > 0) add(tool.name, tool.description, members);
    }
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A tool by one name: that of its namespace and a dot before its own, unless it was declared outside of any. */
export function qualifiedName({ name, namespace }: { name: string; namespace?: string | undefined }): string {
  return namespace === undefined || namespace === FUNCTIONS ? name : `${namespace}.${name}`;
}
