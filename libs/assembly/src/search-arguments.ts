import { parseJson } from '@turnpike/protocol';

/**
 * The arguments of a search for tools: the JSON object that the model wrote, `{}` when it wrote nothing, and otherwise its
 * text as it is, so that nothing is lost or made up and the client can tell the model what is wrong with it.
 */
export function searchArguments(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : text;
  } catch {
    return text;
  }
}
