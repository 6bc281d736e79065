import type { CustomTool, FunctionTool, Item, NamespaceTool, Tool } from '@turnpike/protocol';

/** How a tool is compared. */
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

/** A tool that a model can call, and the namespace it was declared in. */
export interface CallableTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The tools of a list that a model can call, in their order, those of namespaces one by one. */
export function callableTools(tools: readonly Tool[], namespace?: string): CallableTool[] {
  return tools.flatMap((tool): CallableTool[] => {
    if (tool.type === 'namespace') {
      const { name, tools: members } = tool as NamespaceTool;
      return callableTools(members, name);
    }
    if (tool.type !== 'function' && tool.type !== 'custom') return [];
    const { type, name } = tool as FunctionTool | CustomTool;
    return [{ type, name, ...(namespace === undefined ? {} : { namespace }) }];
  });
}

/** Types of tools that the client runs. */
export function isClientType(type: string): boolean {
  return type === 'function' || type === 'custom' || type === 'namespace';
}

/** The tools that joined a chain as items, after these items. */
export function foldTools(tools: readonly Tool[], items: readonly Item[]): readonly Tool[] {
  const added = items.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []));
  return added.length === 0 ? tools : [...tools, ...added];
}

function isClientTool(tool: Tool): tool is Tool & { name: string } {
  return isClientType(tool.type);
}
