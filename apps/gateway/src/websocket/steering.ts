import type { Item, OutputItem, ResponseRequest } from '@turnpike/protocol';
import type { LaneId } from '@turnpike/turns';
import type { Steer } from '../turn/response-control.js';
import type { TurnOutcome } from '../turn/turn-input.js';
import { noticeFrame } from './frames.js';

/** Responses of a connection for which steering input may be kept at once. */
const MAX_HELD = 16;

/**
 * What becomes of steering input once its response has ended: a response that follows by itself, or, when the client has
 * calls to answer first, the front of the request that answers them.
 */
export class Steering {
  readonly #send: (json: string) => void;
  /** By the response behind which it is to be heard; oldest first. */
  readonly #held = new Map<string, { readonly lane: LaneId; readonly steers: readonly Steer[] }>();

  constructor(send: (json: string) => void) {
    this.#send = send;
  }

  /** The request that follows `request` by itself; undefined when none does. */
  successorOf(request: ResponseRequest, outcome: TurnOutcome, lane: LaneId): ResponseRequest | undefined {
    const { response, steers, waiting, failure } = outcome;
    if (steers.length === 0) return undefined;
    if (failure !== undefined) {
      this.fail(response.id, steers, lane);
      return undefined;
    }
    if (waiting.length > 0) {
      this.#hold(response.id, lane, steers);
      const required_input = response.output.flatMap((item) =>
        isOnlyHere(item, waiting) ? [stubOf(item)] : [],
      );
      for (const { id } of steers) {
        const steer = { id, previous_response_id: response.id };
        const fields = { reason: 'waiting_for_required_input', required_input, steer };
        this.#send(noticeFrame('response.steer.pending', lane, fields));
      }
      return undefined;
    }
    const input = steers.flatMap(({ items }) => [...items]);
    return { ...request, input, previousResponseId: response.id };
  }

  /** The steering input that waits for a request like this one, in the order in which it came. */
  heldFor({ previousResponseId }: ResponseRequest, lane: LaneId): Item[] {
    const held = previousResponseId === undefined ? undefined : this.#held.get(previousResponseId);
    return held !== undefined && held.lane === lane ? held.steers.flatMap(({ items }) => [...items]) : [];
  }

  /** The request that had it prepended has a response. */
  heard({ previousResponseId }: ResponseRequest): void {
    if (previousResponseId !== undefined) this.#held.delete(previousResponseId);
  }

  /** What a request wanted to continue cannot be, and with it the place of what waited for such a request is gone. */
  lost(body: unknown): void {
    this.drop((body as { previous_response_id?: unknown }).previous_response_id);
  }

  /** The same, by the response behind which it was to be heard. */
  drop(id: unknown): void {
    const held = typeof id === 'string' ? this.#held.get(id) : undefined;
    if (held === undefined || typeof id !== 'string') return;
    this.#held.delete(id);
    this.fail(id, held.steers, held.lane);
  }

  /** Tells the client that there will be no response to its steering input. */
  fail(responseId: string, steers: readonly Steer[], lane: LaneId): void {
    const error = {
      type: 'invalid_request_error',
      code: 'successor_creation_failed',
      message: 'No response could be created for this input.',
    };
    for (const { id, items } of steers) {
      const steer = { id, previous_response_id: responseId, input: items };
      this.#send(noticeFrame('response.steer.failed', lane, { error, steer }));
    }
  }

  #hold(responseId: string, lane: LaneId, steers: readonly Steer[]): void {
    this.#held.set(responseId, { lane, steers });
    for (const [oldest, held] of this.#held) {
      if (this.#held.size <= MAX_HELD) break;
      this.#held.delete(oldest);
      this.fail(oldest, held.steers, held.lane);
    }
  }
}

type Call = Extract<OutputItem, { call_id: unknown }>;

function isOnlyHere(item: OutputItem, waiting: readonly string[]): item is Call {
  return 'call_id' in item && item.call_id !== null && waiting.includes(item.call_id);
}

/** What a call wants to be answered with. Shapes: openai-node `response.steer.pending`. */
function stubOf(call: Call): Record<string, unknown> {
  const { call_id } = call;
  switch (call.type) {
    case 'function_call':
      return { type: 'function_call_output', call_id, name: call.name };
    case 'custom_tool_call':
      return { type: 'custom_tool_call_output', call_id };
    case 'tool_search_call':
      return { type: 'tool_search_output', call_id, execution: 'client' };
  }
}
