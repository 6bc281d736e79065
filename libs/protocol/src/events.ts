/** Types of the events of one response, in the order in which they can first appear; `keepalive` may come anywhere between. */
export const EVENT_TYPES = [
  'response.created',
  'response.queued',
  'response.in_progress',
  'keepalive',
  'response.output_item.added',
  'response.content_part.added',
  'response.output_text.delta',
  'response.output_text.done',
  'response.reasoning_text.delta',
  'response.reasoning_text.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.content_part.done',
  'response.output_item.done',
  'response.interrupt.accepted',
  'response.output_item.interrupted',
  'response.compaction.compacting',
  'response.steer.accepted',
  'response.inject.created',
  'response.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Exactly one of these ends a response, and nothing follows it. */
export const TERMINAL_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'] as const;
export type TerminalEventType = (typeof TERMINAL_EVENTS)[number];

/** One event, serialised once for whichever transport carries it. */
export interface EventFrame {
  readonly type: EventType;
  /** The event as JSON text, `type` and `sequence_number` first. */
  readonly json: string;
}
