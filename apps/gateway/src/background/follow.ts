import { terminalEvent } from '@turnpike/assembly';
import type { BackgroundJobs } from '@turnpike/background';
import type { ResponseStore } from '@turnpike/conversation';
import { ApiError, type EventFrame, type EventType } from '@turnpike/protocol';
import type { EventSink } from '../turn/event-sink.js';
import type { Changes } from './changes.js';

export interface FollowParts {
  readonly jobs: BackgroundJobs;
  readonly responses: ResponseStore;
  readonly changes: Changes;
  /** Most bytes that the terminal event spends on tools and instructions. */
  readonly echoBytes: number;
  /** Whether the events of a response are not waited for any longer: the server stops. */
  readonly isLeaving: (id: string) => boolean;
}

/** How often is looked for events that another gateway makes, in ms. */
const LOOK_MS = 250;

const HEAD = /^\{"type":"([^"]+)"/;

/**
 * Sends the events of a background response behind the one of this number, those there are and those that come, to the
 * terminal one.
 * @param gone ends with the client
 * @throws ApiError not_a_background_response when its events are not kept, response_not_found when it is gone
 */
export async function follow(
  { tenant, id, after }: { readonly tenant: string; readonly id: string; readonly after: number },
  sink: EventSink,
  gone: AbortSignal,
  { jobs, responses, changes, isLeaving, echoBytes }: FollowParts,
): Promise<void> {
  let next = after + 1;
  while (!gone.aborted) {
    const change = changes.next(id, LOOK_MS, gone);
    try {
      const job = await jobs.find(tenant, id);
      if (job === undefined) throw new ApiError('response_not_found');
      if (job.events === undefined) throw new ApiError('not_a_background_response');
      while (next < job.events && !gone.aborted) {
        const batches = await jobs.readEvents(tenant, id, next);
        const events = batches.flatMap((batch) => batch.events.slice(Math.max(0, next - batch.first)));
        if (events.length === 0) break;
        sink.send(events.map(frameOf));
        next += events.length;
        await sink.ready();
      }
      if (job.status === 'ended') {
        const response = (await responses.find(tenant, id))?.response;
        if (response === undefined) throw new ApiError('response_not_found');
        if (job.events > after) sink.send([terminalEvent(response, job.events, echoBytes)]);
        return;
      }
      if (isLeaving(id)) return;
      await change.happened;
    } finally {
      change.forget();
    }
  }
}

function frameOf(json: string): EventFrame {
  return { type: (HEAD.exec(json)?.[1] ?? 'error') as EventType, json };
}
