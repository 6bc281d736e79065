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
  const { instructions, reasoning } = request;
  const format = responseFormatOf(request);
  return {
    instructions,
    tools: offersTools(request) ? request.toolsKey : undefined,
    effort: reasoning.effort,
    responseFormat: format && JSON.stringify([format.name, format.description, format.schema]),
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
  const { instructions, reasoning, tools } = request;
  return {
    instructions,
    tools: offersTools(request) ? tools : [],
    reasoningEffort: reasoning.effort,
    responseFormat: responseFormatOf(request),
    date,
  };
}

/** What the model is told of `text.format`; any JSON object is a format too. */
function responseFormatOf({ text: { format } }: ResponseRequest): HeadSettings['responseFormat'] {
  switch (format.type) {
    case 'text':
      return undefined;
    case 'json_object':
      return { name: format.type, schema: { type: 'object' } };
    case 'json_schema':
      return { name: format.name, description: format.description, schema: format.schema };
  }
}

/** A model that must not call a tool is shown none: no engine can be relied on to forbid it otherwise. */
function offersTools({ toolChoice }: ResponseRequest): boolean {
  return toolChoice !== 'none';
}
