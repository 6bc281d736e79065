import { z } from 'zod';
import type { ToolChoice } from '../request.js';
import { isAbsent, isObject, list, missing, optional, parseField, wrongType, wrongValue } from './fields.js';

const MODES = ['none', 'auto', 'required'] as const;

const namespace = optional(z.string().min(1));
const named = z.object({ type: z.enum(['function', 'custom']), name: z.string().min(1), namespace });
const allowedTools = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: list(
    z.object({ type: z.string(), name: optional(z.string()), namespace, server_label: optional(z.string()) }),
  ),
});

/**
 * The `tool_choice` of a request. A choice of a hosted tool is taken as it is: whether it can be kept is for the
 * validation stage, which knows what was offered.
 * @throws ApiError naming the field
 */
export function parseToolChoice(value: unknown, path: string): ToolChoice {
  if (isAbsent(value)) return 'auto';
  if (typeof value === 'string') {
    const mode = MODES.find((candidate) => candidate === value);
    if (mode === undefined) throw wrongValue(path, value, MODES);
    return mode;
  }
  if (!isObject(value)) throw wrongType(path, 'string or object', value);
  const { type } = value;
  if (isAbsent(type)) throw missing(`${path}.type`);
  if (typeof type !== 'string') throw wrongType(`${path}.type`, 'string', type);
  if (type === 'function' || type === 'custom') return parseField(named, value, path);
  if (type === 'allowed_tools') return parseField(allowedTools, value, path);
  return { ...value, type };
}
