import { TOOL_SEARCH, type ToolChoice } from '@turnpike/protocol';
import type { CallableTool } from './tool-names.js';

/** One tool, or one namespace of tools, that a choice names. */
export interface ChoiceEntry {
  readonly type: string;
  readonly name?: unknown;
  readonly namespace?: unknown;
}

/** What a choice names, entry by entry. */
export function entriesOf(choice: Exclude<ToolChoice, string>): readonly ChoiceEntry[] {
  return choice.type === 'allowed_tools' ? (choice['tools'] as ChoiceEntry[]) : [choice];
}

/**
 * The declared tools that an entry means. A namespace names every tool in it. A name without a namespace means a tool
 * inside one only where no other has it; tools of several namespaces are an ambiguity, which is for the caller to refuse.
 */
export function meantBy(entry: ChoiceEntry, declared: readonly CallableTool[]): readonly CallableTool[] {
  const { type, name, namespace } = entry;
  if (type === 'namespace') return declared.filter((tool) => tool.namespace === name);
  if (type === TOOL_SEARCH) return declared.filter((tool) => tool.type === type);
  const all = declared.filter((tool) => tool.type === type && tool.name === name);
  if (namespace !== undefined) return all.filter((tool) => tool.namespace === namespace);
  const bare = all.filter((tool) => tool.namespace === undefined);
  return bare.length > 0 ? bare : all;
}
