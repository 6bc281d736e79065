import type { FunctionTool, Tool } from './items.js';
import type { TextFormat } from './settings.js';

/**
 * What a response repeats of its request. A client's schema asks for keys that a request may leave out. Sources:
 * openai-node `FunctionTool`; OpenResponses `FunctionTool` and `JsonSchemaResponseFormat`, whose keys are all required.
 */
export type ShownTool = Tool | (Pick<FunctionTool, 'type' | 'name'> & Nullable<FunctionTool>);
export type ShownFormat =
  | Exclude<TextFormat, { type: 'json_schema' }>
  | (Omit<Extract<TextFormat, { type: 'json_schema' }>, 'description' | 'strict'> & {
      description: string | null;
      strict: boolean;
    });

type Nullable<T extends FunctionTool> = {
  [K in 'description' | 'parameters' | 'strict']: Exclude<T[K], undefined> | null;
};

/** A tool as a response shows it: what a function leaves open is null. */
export function shownTool(tool: Tool): ShownTool {
  if (!isFunction(tool)) return tool;
  const { description = null, parameters = null, strict = null } = tool;
  return { ...tool, description, parameters, strict };
}

/** A format as a response shows it: schemas are not strict unless they say so. */
export function shownFormat(format: TextFormat): ShownFormat {
  if (format.type !== 'json_schema') return format;
  const { description = null, strict = false } = format;
  return { ...format, description, strict };
}

function isFunction(tool: Tool): tool is FunctionTool {
  return tool.type === 'function';
}
