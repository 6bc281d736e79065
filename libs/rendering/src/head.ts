import type { HeadSettings } from '@turnpike/formats';
import type { ResponseRequest } from '@turnpike/protocol';

/** What a head depends on. Two requests with equal keys have the same head. */
export interface HeadKey {
  readonly instructions: string | undefined;
  /** JSON text of the tools, as the client sent it; undefined when none are offered. */
  readonly tools: string | undefined;
  readonly effort: string | undefined;
  /** JSON text of the schema the answer has to satisfy, with its name. */
  readonly responseFormat: string | undefined;
  /** YYYY-MM-DD, that of the first response of the chain. */
  readonly date: string;
}

export function headKeyOf(request: ResponseRequest, date: string): HeadKey {
  const { instructions, reasoning, text } = request;
  const { name, description, schema } = text.format.type === 'json_schema' ? text.format : {};
  return {
    instructions,
    tools: offersTools(request) ? request.toolsKey : undefined,
    effort: reasoning.effort,
    responseFormat: schema && JSON.stringify([name, description, schema]),
    date,
  };
}

export function sameHead(a: HeadKey, b: HeadKey): boolean {
  return (
    a.instructions === b.instructions &&
    a.tools === b.tools &&
    a.effort === b.effort &&
    a.responseFormat === b.responseFormat &&
    a.date === b.date
  );
}

export function headSettingsOf(request: ResponseRequest, date: string): HeadSettings {
  const { instructions, reasoning, text, tools } = request;
  const { format } = text;
  return {
    instructions,
    tools: offersTools(request) ? tools : [],
    reasoningEffort: reasoning.effort,
    responseFormat:
      format.type === 'json_schema'
        ? { name: format.name, description: format.description, schema: format.schema }
        : undefined,
    date,
  };
}

/** A model that must not call a tool is shown none: no engine can be relied on to forbid it otherwise. */
function offersTools({ toolChoice }: ResponseRequest): boolean {
  return toolChoice !== 'none';
}
