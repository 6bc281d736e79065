import { parseType, type ParameterType } from './tool-types.js';

/** A tool that the prompt offers. */
export interface OfferedTool {
  /** As a call addresses it: "functions.get_weather". */
  readonly recipient: string;
  readonly name: string;
  /** A custom tool takes free text. */
  readonly custom: boolean;
  readonly parameters: ParameterType;
}

/** What a developer message asks for. */
export interface DeveloperMessage {
  readonly tools: readonly OfferedTool[];
  /** The JSON Schema of the answer. */
  readonly schema: Record<string, unknown> | undefined;
}

const NAMESPACE = /^namespace (\S+) \{$/gm;
const DECLARATION = /^type ([^\s=]+) = \((?:\)|_: )/gm;
const CUSTOM = /^string\) => any;/;

/**
 * Reads the tools and the response format out of a developer message. Both stand at its end, after the instructions,
 * which may talk of tools in any words: so the last heading of each kind counts.
 */
export function readDeveloperMessage(text: string): DeveloperMessage {
  const formats = text.lastIndexOf('# Response Formats\n\n## ');
  const schema = formats < 0 ? undefined : parseSchema(text.slice(formats));
  const upper = schema ? text.slice(0, formats) : text;
  const tools = upper.lastIndexOf('# Tools\n\n## ');
  return { tools: tools < 0 ? [] : readTools(upper.slice(tools)), schema };
}

function readTools(section: string): OfferedTool[] {
  const found: OfferedTool[] = [];
  const namespaces = [...section.matchAll(NAMESPACE)];
  for (const [i, opening] of namespaces.entries()) {
    const body = section.slice(opening.index, namespaces[i + 1]?.index);
    for (const declaration of body.matchAll(DECLARATION)) {
      const name = declaration[1] ?? '';
      const after = declaration.index + declaration[0].length;
      found.push({
        recipient: `${opening[1]}.${name}`,
        name,
        custom: CUSTOM.test(body.slice(after, after + 20)),
        parameters: declaration[0].endsWith('_: ')
          ? parseType(body, after)
          : { kind: 'object', properties: [] },
      });
    }
  }
  return found;
}

/** The first JSON object that begins a line and goes to the end. */
function parseSchema(section: string): Record<string, unknown> | undefined {
  const start = section.search(/^\{/m);
  if (start < 0) return undefined;
  try {
    return JSON.parse(section.slice(start)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
