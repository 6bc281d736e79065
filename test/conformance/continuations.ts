import { expect } from '@jest/globals';
import type { WireEvent } from '../e2e/socket-client.js';
import { terminal } from './stream-rules.js';
import type { Body, Client } from './transports.js';

/** The one error of a continuation whose parent is not found, as far as it matters. */
export function notFound(id: string) {
  return {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      message: `Previous response with id '${id}' not found.`,
      param: 'previous_response_id',
    },
  };
}

/** Expects that a continuation does not find its parent, and that nothing begins. */
export async function expectGone(client: Client, id: string, more: Body = {}): Promise<void> {
  const events = await client.create({ previous_response_id: id, input: 'go on', ...more });
  expect(events).toMatchObject([notFound(id)]);
}

/** Expects that a continuation finds its parent. */
export async function expectThere(client: Client, id: string, more: Body = {}): Promise<WireEvent[]> {
  const events = await client.create({ previous_response_id: id, input: 'go on', ...more });
  expect(terminal(events).response).toMatchObject({ status: 'completed', previous_response_id: id });
  return events;
}
