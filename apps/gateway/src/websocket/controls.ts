import type { ConnectionCache } from '@turnpike/conversation';
import { answerOf, ApiError, parseInput, quotable, type Item, type MessageItem } from '@turnpike/protocol';
import type { LaneId } from '@turnpike/turns';
import type { ResponseControl } from '../turn/response-control.js';
import { errorFrame, noticeFrame, type ControlFrame } from './frames.js';

export interface ControlsParts {
  readonly tenant: string;
  readonly cache: ConnectionCache;
  readonly send: (json: string) => void;
}

/** Why a control event was not followed, as its refusal says it. */
interface Refusal {
  readonly type: 'invalid_request_error';
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
}

/**
 * Events about responses that run on a connection. They go past its queues: they would wait behind the response they are
 * about. Each has a refusal of its own, which clients handle; an error frame instead would end their turn.
 */
export class Controls {
  readonly #parts: ControlsParts;
  readonly #running = new Map<string, { readonly control: ResponseControl; readonly lane: LaneId }>();

  constructor(parts: ControlsParts) {
    this.#parts = parts;
  }

  /** A response has begun. */
  begin(responseId: string, control: ResponseControl, lane: LaneId): void {
    this.#running.set(responseId, { control, lane });
  }

  /** It has ended. */
  end(responseId: string): void {
    this.#running.delete(responseId);
  }

  /** Nothing more is taken from the client: responses that wait for it end with what is finished. */
  stopWaiting(): void {
    for (const { control } of this.#running.values()) control.stopWaiting();
  }

  handle({ type, body, streamId }: ControlFrame): void {
    const steers = type === 'response.steer';
    const param = steers ? 'previous_response_id' : 'response_id';
    // A steer has no stream of its own, and is refused for naming one.
    const lane = steers ? undefined : streamId;
    try {
      const control = this.#controlOf(body[param], param, lane, type === 'response.append');
      switch (type) {
        case 'response.interrupt':
          return control.interrupt();
        case 'response.steer':
          if (streamId !== undefined) throw refused('stream_id', "'stream_id' follows from the response");
          return control.steer(inputOf(body, isUserMessage, 'user messages'));
        case 'response.inject':
          return control.answer(inputOf(body, isToolOutput, 'tool outputs'), true);
        case 'response.append':
          return control.answer(inputOf(body, isToolOutput, 'tool outputs'), false);
      }
    } catch (thrown) {
      this.#refuse(ApiError.from(thrown), { type, body, streamId });
    }
  }

  /**
   * The control of a response that runs.
   * @param lane where it runs; undefined when the client has not said
   * @param alone whether it may be left out where only one runs
   * @throws ApiError response_already_completed | response_not_found
   */
  #controlOf(id: unknown, param: string, lane: LaneId, alone: boolean): ResponseControl {
    const only =
      id === undefined && alone && this.#running.size === 1 ? [...this.#running.values()][0] : undefined;
    const running = only ?? this.#running.get(typeof id === 'string' ? id : '');
    if (running !== undefined && (lane ?? running.lane) === running.lane) return running.control;
    const { cache, tenant } = this.#parts;
    const ended = typeof id === 'string' && cache.load(tenant, id) !== undefined;
    throw new ApiError(ended ? 'response_already_completed' : 'response_not_found', {
      param,
      message: ended
        ? `Response '${quotable(id)}' has already ended.`
        : lane === undefined
          ? 'No response of this id is running on this connection.'
          : 'No response of this id is running on this stream.',
    });
  }

  #refuse(error: ApiError, { type, body, streamId }: ControlFrame): void {
    const refusal = refusalOf(error);
    const { send } = this.#parts;
    switch (type) {
      case 'response.interrupt':
        return send(
          noticeFrame('response.interrupt.failed', streamId, {
            response_id: body['response_id'] ?? null,
            error: refusal,
          }),
        );
      case 'response.steer': {
        const steer = {
          previous_response_id: body['previous_response_id'] ?? null,
          input: body['input'] ?? null,
        };
        const lane = this.#running.get(String(body['previous_response_id']))?.lane;
        return send(noticeFrame('response.steer.failed', lane, { error: refusal, steer }));
      }
      case 'response.inject': {
        const { response_id = null, input = null } = body;
        return send(noticeFrame('response.inject.failed', streamId, { response_id, input, error: refusal }));
      }
      case 'response.append':
        return send(errorFrame(error, streamId));
    }
  }
}

/** What is wrong with the input of a control event has one code there; the message says what it is. */
function refusalOf({ code, message, param }: ApiError): Refusal {
  const own = [
    'response_not_found',
    'response_already_completed',
    'steering_not_supported',
    'too_many_pending_steers',
  ];
  return {
    type: 'invalid_request_error',
    code: own.includes(code) ? code : 'invalid_input',
    message,
    param: param ?? null,
  };
}

/** @throws ApiError naming the field */
function inputOf<T extends Item>(
  body: Record<string, unknown>,
  is: (item: Item) => item is T,
  what: string,
): T[] {
  const items = parseInput(body['input']);
  if (items.length === 0) throw refused('input', 'has to hold at least one item');
  return items.map((item, index) => {
    if (!is(item)) throw refused(`input[${index}]`, `only ${what} are taken here`);
    if (hasMedia(item)) throw refused(`input[${index}]`, 'images and files come with a request of their own');
    return item;
  });
}

/** Media can be refused only once they are loaded, which is too late for what a response that runs has been given. */
function hasMedia(item: Item): boolean {
  const parts = item.type === 'message' ? item.content : 'output' in item ? item.output : undefined;
  if (!Array.isArray(parts)) return false;
  return parts.some((part) => 'type' in part && (part.type === 'input_image' || part.type === 'input_file'));
}

function isToolOutput(item: Item): item is Item {
  return answerOf(item) !== undefined;
}

function isUserMessage(item: Item): item is MessageItem {
  return item.type === 'message' && item.role === 'user';
}

function refused(param: string, reason: string): ApiError {
  return new ApiError('invalid_value', { param, message: `Invalid value for '${param}': ${reason}.` });
}
