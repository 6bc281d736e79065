import { ApiError, quotable, type Item, type ToolCallItem, type ToolOutputItem } from '@turnpike/protocol';

/** Type of each call that still waits for its output, by call id. Immutable. */
export type WaitingCalls = ReadonlyMap<string, ToolCallItem['type']>;

const OUTPUT_OF = {
  function_call_output: 'function_call',
  custom_tool_call_output: 'custom_tool_call',
} as const satisfies Record<ToolOutputItem['type'], ToolCallItem['type']>;

/** How error messages speak of each kind of call. */
const SPOKEN = { function_call: 'function call', custom_tool_call: 'custom tool call' } as const;

/**
 * The calls that wait after these items. A call that was cut short never waits: no client can answer it.
 * @param param the field that the items come from
 * @throws ApiError tool_output_mismatch for an output without its call
 */
export function foldCalls(waiting: WaitingCalls, items: Iterable<Item>, param: string): WaitingCalls {
  let next: Map<string, ToolCallItem['type']> | undefined;
  const change = () => (next ??= new Map(waiting));
  for (const item of items) {
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      if (item.status !== 'incomplete') change().set(item.call_id, item.type);
    } else if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') {
      const call = OUTPUT_OF[item.type];
      if ((next ?? waiting).get(item.call_id) !== call) throw orphan(call, item.call_id, param);
      change().delete(item.call_id);
    }
  }
  return next ?? waiting;
}

/**
 * Sampling may only begin when no call waits.
 * @throws ApiError tool_output_mismatch naming the first call without an output
 */
export function requireAnswered(waiting: WaitingCalls): void {
  for (const [callId, type] of waiting) {
    throw new ApiError('tool_output_mismatch', {
      param: 'input',
      message: `No tool output found for ${SPOKEN[type]} ${quotable(callId)}.`,
    });
  }
}

function orphan(call: ToolCallItem['type'], callId: string, param: string): ApiError {
  return new ApiError('tool_output_mismatch', {
    param,
    message: `No tool call found for ${SPOKEN[call]} output with call_id ${quotable(callId)}.`,
  });
}
