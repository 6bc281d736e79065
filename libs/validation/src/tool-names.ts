import type { Item, Tool } from '@turnpike/protocol';

/** Tools that a model can be made to call, each as its type and name. */
export type ToolNames = ReadonlySet<string>;

/** How a tool stands in {@link ToolNames}. */
export function toolKey(type: string, name: string): string {
  return `${type} ${name}`;
}

/** The tools of a list that the client runs, those inside namespaces included. Hosted tools are never offered. */
export function namesOf(tools: readonly Tool[]): string[] {
  return tools.flatMap((tool) => {
    if (!isClientTool(tool)) return [];
    const inside = 'tools' in tool ? namesOf(tool.tools as Tool[]) : [];
    return [toolKey(tool.type, tool.name), ...inside];
  });
}

/** Types of tools that the client runs. */
export function isClientType(type: string): boolean {
  return type === 'function' || type === 'custom' || type === 'namespace';
}

/** The names after these items, some of which may bring tools. */
export function foldTools(names: ToolNames, items: readonly Item[]): ToolNames {
  const added = items.flatMap((item) => (item.type === 'additional_tools' ? namesOf(item.tools) : []));
  return added.length === 0 ? names : new Set([...names, ...added]);
}

function isClientTool(tool: Tool): tool is Tool & { name: string } {
  return isClientType(tool.type);
}
