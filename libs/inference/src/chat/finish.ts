import type { MessageFinish } from '../messages.js';

/** Reasons by what servers call them, in small letters. */
const NAMES: Readonly<Record<MessageFinish, readonly string[]>> = {
  stop: [
    ...['stop', 'stop_sequence', 'end_turn', 'eos', 'eos_token'],
    ...['tool_calls', 'tool_call', 'tool_use', 'function_call'],
  ],
  length: ['length', 'max_tokens', 'max_output_tokens', 'model_length', 'model_context_window_exceeded'],
  content_filter: [
    ...['content_filter', 'safety', 'sensitive', 'recitation', 'prohibited_content', 'blocklist'],
  ],
  abort: ['abort'],
};
const FINISH: ReadonlyMap<string, MessageFinish> = new Map(
  Object.entries(NAMES).flatMap(([finish, names]) => names.map((name) => [name, finish as MessageFinish])),
);

/** Why an output ended. Reasons that are not known end it all the same: as a cut. */
export function finishOf(reason: unknown): MessageFinish | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  return FINISH.get(reason.toLowerCase()) ?? 'abort';
}
