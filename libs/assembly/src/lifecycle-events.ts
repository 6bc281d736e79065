import { echoOf, type EventFrame, type ResponseObject, type TerminalEventType } from '@turnpike/protocol';
import { EventWriter } from './event-writer.js';

/**
 * Type of the event that ends a response. There is none for `cancelled` in openai-node's `ResponseStreamEvent`. A
 * cancelled response ends with `response.failed`, whose response says `cancelled` and has no error: of the three there
 * are it is the only one that every client takes for the end and none for an answer (the AI SDK reads
 * `response.incomplete` without a reason as a finished one).
 * @throws Error for a response that has not ended
 */
export function terminalTypeOf({ status }: ResponseObject): TerminalEventType {
  if (status === 'cancelled') return 'response.failed';
  if (status !== 'completed' && status !== 'incomplete' && status !== 'failed') {
    throw new Error(`a response that is ${status} has no terminal event`);
  }
  return `response.${status}`;
}

/** What the stream of a response that waits for its turn begins with: `response.created` and `response.queued`. */
export function queuedEvents(response: ResponseObject, toolsKey: string, echoBytes: number): EventFrame[] {
  const writer = new EventWriter();
  const fields = `"response":${JSON.stringify(echoOf(response, toolsKey, echoBytes))}`;
  return [writer.raw('response.created', fields), writer.raw('response.queued', fields)];
}

/**
 * The terminal event of a response that has ended, made from the response itself.
 * @param sequence number of the event
 */
export function terminalEvent(response: ResponseObject, sequence: number, echoBytes: number): EventFrame {
  const echo = echoOf(response, JSON.stringify(response.tools), echoBytes);
  return new EventWriter(undefined, sequence).raw(
    terminalTypeOf(response),
    `"response":${JSON.stringify(echo)}`,
  );
}
