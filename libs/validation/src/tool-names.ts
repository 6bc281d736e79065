import {
  isCallable,
  isClientSearch,
  isNamespace,
  offeredTools,
  TOOL_SEARCH,
  type Item,
  type Tool,
} from '@turnpike/protocol';

/** How a tool is compared. */
export function toolKey(type: string, name: string): string {
  return `${type} ${name}`;
}

/** The tools of a list that the client runs, those inside namespaces included. Hosted tools are never offered. */
export function namesOf(tools: readonly Tool[]): string[] {
  return tools.flatMap((tool) => {
    if (isNamespace(tool)) return [toolKey(tool.type, tool.name), ...namesOf(tool.tools)];
    if (isClientSearch(tool)) return [toolKey(TOOL_SEARCH, TOOL_SEARCH)];
    return isCallable(tool) ? [toolKey(tool.type, tool.name)] : [];
  });
}

/** A tool that a model can call, and the namespace it was declared in. */
export interface CallableTool {
  readonly type: 'function' | 'custom' | 'tool_search';
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The tools of a list that a model can call, in their order, those of namespaces one by one. */
export function callableTools(tools: readonly Tool[], namespace?: string): CallableTool[] {
  return tools.flatMap((tool): CallableTool[] => {
    if (isNamespace(tool)) return callableTools(tool.tools, tool.name);
    if (isClientSearch(tool)) return [{ type: TOOL_SEARCH, name: TOOL_SEARCH }];
    if (!isCallable(tool)) return [];
    const { type, name } = tool;
    return [{ type, name, ...(namespace === undefined ? {} : { namespace }) }];
  });
}

/** The tools that joined a chain as items and may be shown, after these items. */
export function foldTools(tools: readonly Tool[], items: readonly Item[]): readonly Tool[] {
  const added = items.flatMap((item): readonly Tool[] => {
    if (item.type === 'additional_tools') return offeredTools(item.tools);
    // What a search has found is there to be called.
    return item.type === 'tool_search_output' ? item.tools : [];
  });
  return added.length === 0 ? tools : [...tools, ...added];
}
