import type { CustomTool, FunctionTool, NamespaceTool, Tool, ToolSearchTool } from './items.js';

/** The name a client's tool search is called by. */
export const TOOL_SEARCH = 'tool_search';

type Member = NamespaceTool['tools'][number];

export function isCallable(tool: Tool | Member): tool is FunctionTool | CustomTool {
  return tool.type === 'function' || tool.type === 'custom';
}

export function isNamespace(tool: Tool): tool is NamespaceTool {
  return tool.type === 'namespace';
}

/** True for a search that the client runs. One by the server is not a tool: everything is shown, so nothing is hidden. */
export function isClientSearch(tool: Tool): tool is ToolSearchTool {
  return tool.type === TOOL_SEARCH && 'execution' in tool && tool.execution === 'client';
}

/**
 * What the model is shown of one list of tools. Where the list has a search by the client, the tools that are to be
 * searched for are left out, until a `tool_search_output` brings them; only their names and descriptions stand with the
 * search, so that the model knows what there is to find.
 */
export function offeredTools(tools: readonly Tool[]): readonly Tool[] {
  if (!tools.some(isClientSearch)) return tools;
  const deferred = tools.filter(isDeferred) as Deferrable[];
  if (deferred.length === 0) return tools;
  return tools.flatMap((tool): Tool[] => {
    if (isClientSearch(tool)) return [withCatalogue(tool, deferred)];
    if (isNamespace(tool)) return withoutDeferred(tool);
    return isCallable(tool) && tool.defer_loading === true ? [] : [tool];
  });
}

type Deferrable = FunctionTool | CustomTool | NamespaceTool;

/** A namespace counts when anything in it has to be searched for. */
function isDeferred(tool: Tool): boolean {
  if (isNamespace(tool)) return tool.defer_loading === true || tool.tools.some(isDeferred);
  return isCallable(tool) && tool.defer_loading === true;
}

function withoutDeferred(namespace: NamespaceTool): Tool[] {
  if (namespace.defer_loading === true) return [];
  const tools = namespace.tools.filter((member) => !isDeferred(member));
  return tools.some(isCallable) ? [{ ...namespace, tools }] : [];
}

/** Of a namespace the model is told its name and what it is for, as OpenAI's tool search does it. */
function withCatalogue(search: ToolSearchTool, deferred: readonly Deferrable[]): ToolSearchTool {
  const lines = deferred.map(({ name, description }) =>
    description === undefined ? `- ${name}` : `- ${name}: ${description}`,
  );
  const intro = search.description === undefined ? [] : [search.description];
  return { ...search, description: [...intro, 'What can be found:', ...lines].join('\n') };
}

/** Tools that OpenAI's API declares and that are never offered here. Source: openai-node 7.59 `Tool`. */
const HOSTED_TYPES: ReadonlySet<string> = new Set([
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'programmatic_tool_calling',
  'shell',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
]);

/** Stands in a report for every type that nobody has declared: those are a client's own words, and reports are logged. */
const UNDECLARED = 'undeclared';

/** Types of the tools that neither this server nor the client runs: they are never offered. */
export function droppedTypes(...lists: (readonly Tool[])[]): string[] {
  const types = new Set<string>();
  const note = (tool: Tool) => {
    if (isNamespace(tool)) tool.tools.forEach(note);
    else if (!isCallable(tool) && tool.type !== TOOL_SEARCH) {
      types.add(HOSTED_TYPES.has(tool.type) ? tool.type : UNDECLARED);
    }
  };
  for (const list of lists) list.forEach(note);
  return [...types];
}
