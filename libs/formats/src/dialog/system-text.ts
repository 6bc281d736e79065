import type { HeadSettings } from '../format.js';
import { dumps, treeOf } from '../json/python-text.js';

/** Instructions, and what the answer has to be, in families that have no section for it. */
export function systemText({ instructions, responseFormat }: HeadSettings): string | undefined {
  const parts = instructions === undefined || instructions === '' ? [] : [instructions];
  if (responseFormat !== undefined) {
    const { name, description, schema } = responseFormat;
    const about = description === undefined ? '' : ` ${description}`;
    const intro = `The final answer is JSON that satisfies this JSON Schema, named "${name}", and nothing else.${about}`;
    parts.push(`# Response Format\n\n${intro}\n\n${dumps(treeOf(schema))}`);
  }
  return parts.length === 0 ? undefined : parts.join('\n\n');
}
