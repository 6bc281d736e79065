import type { ResponseAssembler } from '@turnpike/assembly';
import type { Usage } from '@turnpike/protocol';
import type { EventSink } from './event-sink.js';
import type { ResponseControl } from './response-control.js';

export interface OpenResponse {
  readonly assembler: ResponseAssembler;
  readonly control: ResponseControl;
  readonly sink: EventSink;
  /** Whether the client has opened the response for outputs of its calls. */
  readonly appends: boolean;
  /** Items that were shown before the last output. */
  readonly folded: number;
  /** So far. */
  readonly usage: Usage;
  /** Ends with the client. */
  readonly gone: AbortSignal;
}

/** Whether the response goes on: once the client has answered its calls, where it is open for that. */
export async function isAnswered(response: OpenResponse): Promise<boolean> {
  const { control, assembler, sink, appends, folded, usage, gone } = response;
  const waiting = control.waiting();
  if (waiting.size === 0) return control.hasUnread;
  if (!appends && !control.hasUnread) return false;
  if (appends) {
    const output = assembler.items
      .slice(folded)
      .flatMap(({ item }) =>
        'call_id' in item && item.call_id !== null && waiting.has(item.call_id) ? [item] : [],
      );
    sink.send([assembler.notice('response.done', { response_id: assembler.response.id, output, usage })]);
  }
  await control.untilAnswered(gone);
  return true;
}
