import type { HeadSettings } from '@turnpike/formats';
import { offeredTools, type ResponseRequest, type TextFormat } from '@turnpike/protocol';
import { settingsOf, type ChainSettings } from './chain-settings.js';

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

export function headKeyOf(request: ResponseRequest, chain: ChainSettings, date: string): HeadKey {
  const settings = settingsOf(request, chain);
  const format = responseFormatOf(settings.format);
  return {
    instructions: request.instructions,
    tools: offersTools(request) ? request.toolsKey : undefined,
    effort: settings.effort,
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

export function headSettingsOf(request: ResponseRequest, chain: ChainSettings, date: string): HeadSettings {
  const { effort, format } = settingsOf(request, chain);
  return {
    instructions: request.instructions,
    tools: offersTools(request) ? offeredTools(request.tools) : [],
    reasoningEffort: effort,
    responseFormat: responseFormatOf(format),
    date,
  };
}

/** What the model is told of `text.format`; any JSON object is a format too. */
function responseFormatOf(format: TextFormat): HeadSettings['responseFormat'] {
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
