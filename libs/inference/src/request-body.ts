import type { EngineImage, GenerateRequest } from './engine-client.js';

/**
 * A request body: settings, then the prompt from its cached bytes. Nothing of the history is serialised again, or copied: one
 * `writev` takes all pieces, and even small ones cost less that way than to be joined.
 * @param settings at least one field
 * @param promptField the field that takes the ids
 */
export function requestBody(
  settings: Readonly<Record<string, unknown>>,
  promptField: string,
  { json, images = [] }: Pick<GenerateRequest['prompt'], 'json' | 'images'>,
): Buffer[] {
  return [
    Buffer.from(`${JSON.stringify(settings).slice(0, -1)},"${promptField}":`),
    ...json,
    ...contentParts(images),
    Buffer.from('}'),
  ];
}

/**
 * Images beside the ids, one for each placeholder. The URLs are put in as they are: there is nothing to escape in them,
 * and they are the bulk of the body. Source: vllm/entrypoints/scale_out/token_in_token_out/protocol.py.
 */
function contentParts(images: readonly EngineImage[]): Buffer[] {
  if (images.length === 0) return [];
  const parts = images.flatMap(({ url, detail }, index) => [
    Buffer.from(`${index === 0 ? ',"content_parts":[' : ','}{"type":"image_url","url":"`),
    url,
    Buffer.from(detail === undefined ? '"}' : `","detail":"${detail}"}`),
  ]);
  return [...parts, Buffer.from(']')];
}

/**
 * A request body: settings, then lists from the bytes of their entries. A list without entries is left out.
 * @param settings at least one field
 */
export function listsBody(
  settings: Readonly<Record<string, unknown>>,
  lists: Readonly<Record<string, readonly Buffer[]>>,
): Buffer[] {
  const written = Object.entries(lists).flatMap(([field, entries]) =>
    entries.length === 0 ? [] : [Buffer.from(`,"${field}":[`), ...entries, Buffer.from(']')],
  );
  return [Buffer.from(JSON.stringify(settings).slice(0, -1)), ...written, Buffer.from('}')];
}
