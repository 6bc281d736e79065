import {
  answerOf,
  ApiError,
  callMadeBy,
  CALLS,
  quotable,
  type Answer,
  type Item,
  type PairedCallType,
} from '@turnpike/protocol';

/** Type of each call that still waits for its output, by call id. Immutable. */
export type WaitingCalls = ReadonlyMap<string, PairedCallType>;

/**
 * The calls that wait after these items. A call that was cut short never waits: no client can answer it.
 * @param param the field that the items come from
 * @throws ApiError tool_output_mismatch for an output without its call
 */
export function foldCalls(waiting: WaitingCalls, items: Iterable<Item>, param: string): WaitingCalls {
  let next: Map<string, PairedCallType> | undefined;
  const change = () => (next ??= new Map(waiting));
  for (const item of items) {
    const call = callMadeBy(item);
    if (call !== undefined) change().set(call.id, call.type);
    const answer = answerOf(item);
    if (answer === undefined) continue;
    const type = (next ?? waiting).get(answer.id);
    if (type === undefined || !answer.types.includes(type)) throw orphan(answer, param);
    change().delete(answer.id);
  }
  return next ?? waiting;
}

/**
 * Sampling may only begin when no call waits that the client has to answer.
 * @throws ApiError tool_output_mismatch naming the first call without an output
 */
export function requireAnswered(waiting: WaitingCalls): void {
  for (const [callId, type] of waiting) {
    if (!CALLS[type].waits) continue;
    throw new ApiError('tool_output_mismatch', {
      param: 'input',
      message: `No tool output found for ${CALLS[type].spoken} ${quotable(callId)}.`,
    });
  }
}

function orphan({ types: [type], id }: Answer, param: string): ApiError {
  const message =
    type === 'mcp_approval_request'
      ? `No approval request found for MCP approval response with approval_request_id ${quotable(id)}.`
      : `No tool call found for ${CALLS[type].spoken} output with call_id ${quotable(id)}.`;
  return new ApiError('tool_output_mismatch', { param, message });
}
