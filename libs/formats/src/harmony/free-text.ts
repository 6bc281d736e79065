/**
 * The free text inside what a model wrote as JSON for a tool that takes none: `{"input": "..."}` or a JSON string.
 * Anything else is the text itself.
 */
export function unwrapFreeText(content: string): string {
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null && 'input' in value && typeof value.input === 'string') {
      return value.input;
    }
  } catch {
    // Not JSON after all.
  }
  return content;
}
