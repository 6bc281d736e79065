import { fieldsOf, type Fields } from '../read-values.js';

/** What a delta, or a message that comes whole, says. */
export interface Said {
  readonly reasoning: string;
  readonly content: string;
  /** Pieces of calls. */
  readonly calls: readonly unknown[];
}

/** Servers name reasoning in three ways; those that use two of them say the same twice. A refusal is what was said. */
export function saidBy(delta: Fields): Said {
  const content = contentOf(delta['content']);
  const named = [
    textOf(delta['reasoning_content']),
    textOf(delta['reasoning']),
    detailsOf(delta['reasoning_details']),
  ];
  const calls = Array.isArray(delta['tool_calls']) ? (delta['tool_calls'] as unknown[]) : [];
  const legacy = delta['function_call'];
  return {
    reasoning: named.find((text) => text !== '') ?? content.reasoning,
    content: content.text + textOf(delta['refusal']),
    calls: legacy === undefined || legacy === null ? calls : [...calls, { index: 0, function: legacy }],
  };
}

/** Content as text, or as a list of parts, of which Mistral's may be reasoning. */
function contentOf(content: unknown): { text: string; reasoning: string } {
  if (!Array.isArray(content)) return { text: textOf(content), reasoning: '' };
  const parts = content.map(fieldsOf);
  const thought = parts.flatMap(({ thinking }) =>
    Array.isArray(thinking) ? (thinking as unknown[]) : [thinking],
  );
  return {
    text: parts.map(({ text }) => textOf(text)).join(''),
    reasoning: thought
      .map((part) => textOf(typeof part === 'string' ? part : fieldsOf(part)['text']))
      .join(''),
  };
}

/** OpenRouter's: text, or a summary of it; what is encrypted is of use to the server alone. */
function detailsOf(details: unknown): string {
  if (!Array.isArray(details)) return '';
  return details
    .map(fieldsOf)
    .map(({ text, summary }) => textOf(text) + textOf(summary))
    .join('');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
