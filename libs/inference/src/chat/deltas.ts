import { fieldsOf, type Fields } from '../read-values.js';
import type { SaidReasoning } from './reasoning-field.js';

/** What a delta, or a message that comes whole, says. */
export interface Said {
  readonly reasoning: SaidReasoning;
  readonly content: string;
  /** Pieces of calls. */
  readonly calls: readonly unknown[];
}

/** Servers name reasoning in three ways; those that use two of them say the same twice. A refusal is what was said. */
export function saidBy(delta: Fields): Said {
  const content = contentOf(delta['content']);
  const calls = Array.isArray(delta['tool_calls']) ? (delta['tool_calls'] as unknown[]) : [];
  const legacy = delta['function_call'];
  return {
    reasoning: reasoningOf(delta, content.reasoning),
    content: content.text + textOf(delta['refusal']),
    calls: legacy === undefined || legacy === null ? calls : [...calls, { index: 0, function: legacy }],
  };
}

function reasoningOf(delta: Fields, among: string): SaidReasoning {
  const given = delta['reasoning_details'];
  const details = Array.isArray(given) ? given.map(fieldsOf) : [];
  for (const field of ['reasoning_content', 'reasoning'] as const) {
    const text = textOf(delta[field]);
    if (text !== '') return { text, field, details };
  }
  return { text: detailsOf(details) || among, field: undefined, details };
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
function detailsOf(details: readonly Fields[]): string {
  return details.map(({ text, summary }) => textOf(text) + textOf(summary)).join('');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
