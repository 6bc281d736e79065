import { ApiError, type Item, type ResponseRequest, type Tool } from '@turnpike/protocol';
import { stageToken, type Turn, type TurnStage } from '@turnpike/turns';
import { foldCalls, requireAnswered, type WaitingCalls } from './tool-pairing.js';

/** What validation knows of a chain. */
export interface Validated {
  readonly waitingCalls: WaitingCalls;
}

export const Validation = stageToken<Validated>('validation');

const NO_CALLS: WaitingCalls = new Map();

/**
 * The rules that need the conversation: the shape of each item was settled when the request was parsed. New items
 * only; what came before was validated in its own turn.
 */
export class ValidationStage implements TurnStage<Validated> {
  readonly token = Validation;
  readonly needs = [];

  advance(previous: Validated | undefined, turn: Turn): Validated {
    const before = previous?.waitingCalls ?? NO_CALLS;
    const items = turn.items.map(({ item }) => item);
    turn.count('items_validated', items.length);
    const waitingCalls = foldCalls(before, items);
    if (turn.phase === 'input') {
      refuseMedia(items);
      requireDeclaredTool(turn.request);
      if (turn.request.generate) requireAnswered(waitingCalls);
    }
    return waitingCalls === before && previous !== undefined ? previous : { waitingCalls };
  }
}

/** No engine behind this server takes images or files, and an answer that ignored them would be wrong. */
function refuseMedia(items: readonly Item[]): void {
  items.forEach((item, index) => {
    const [field, parts] =
      item.type === 'message'
        ? ['content', item.content]
        : 'output' in item
          ? ['output', item.output]
          : ['', ''];
    if (typeof parts === 'string') return;
    parts.forEach((part, place) => {
      if (part.type !== 'input_image' && part.type !== 'input_file') return;
      const param = `input[${index}].${field}[${place}]`;
      throw new ApiError('unsupported_parameter', {
        param,
        message: `The model does not take '${part.type}' parts.`,
      });
    });
  });
}

/** A tool that has to be called must be one that was offered. */
function requireDeclaredTool({ toolChoice, tools, input }: ResponseRequest): void {
  if (typeof toolChoice === 'string' || !('name' in toolChoice) || typeof toolChoice.name !== 'string')
    return;
  const added = input.flatMap((item) => (item.type === 'additional_tools' ? item.tools : []));
  if (declares([...tools, ...added], toolChoice.name)) return;
  throw new ApiError('invalid_value', {
    param: 'tool_choice',
    message: `Tool choice '${toolChoice.name}' not found in 'tools' parameter.`,
  });
}

function declares(tools: readonly Tool[], name: string): boolean {
  return tools.some((tool) => 'name' in tool && tool.name === name);
}
