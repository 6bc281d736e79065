import { ApiError, type Item, type MessagePart, type Tool } from '@turnpike/protocol';
import { stageToken, type Turn, type TurnItem, type TurnStage } from '@turnpike/turns';
import { requireCallable } from './tool-choice.js';
import { foldTools } from './tool-names.js';
import { foldCalls, requireAnswered, type WaitingCalls } from './tool-pairing.js';

/** What validation knows of a chain. */
export interface Validated {
  readonly waitingCalls: WaitingCalls;
  /** Tools that joined the chain as items. */
  readonly addedTools: readonly Tool[];
}

export const Validation = stageToken<Validated>('validation');

const NOTHING: Validated = { waitingCalls: new Map(), addedTools: [] };

/**
 * The rules that need the conversation: the shape of each item was settled when the request was parsed. New items
 * only; what came before was validated in its own turn.
 */
export class ValidationStage implements TurnStage<Validated> {
  readonly token = Validation;
  readonly needs = [];

  advance(previous: Validated | undefined, turn: Turn): Validated {
    const before = previous ?? fold(NOTHING, turn, turn.history());
    const validated = fold(before, turn, turn.items);
    if (turn.phase === 'input') {
      turn.items.forEach(({ item }, index) => refuseMedia(item, `input[${index}]`));
      requireCallable(turn.request, validated.addedTools);
      if (turn.request.generate) requireAnswered(validated.waitingCalls);
    }
    return validated;
  }
}

function fold(before: Validated, turn: Turn, turnItems: readonly TurnItem[]): Validated {
  const items = turnItems.map(({ item }) => item);
  turn.count('items_validated', items.length);
  const waitingCalls = foldCalls(before.waitingCalls, items);
  const addedTools = foldTools(before.addedTools, items);
  const changed = waitingCalls !== before.waitingCalls || addedTools !== before.addedTools;
  return changed ? { waitingCalls, addedTools } : before;
}

/** No engine behind this server takes images or files, and an answer that ignored them would be wrong. */
function refuseMedia(item: Item, path: string): void {
  if (item.type === 'message') refuseMediaParts(item.content, `${path}.content`);
  else if ('output' in item && typeof item.output !== 'string')
    refuseMediaParts(item.output, `${path}.output`);
}

function refuseMediaParts(parts: readonly MessagePart[], path: string): void {
  parts.forEach(({ type }, index) => {
    if (type !== 'input_image' && type !== 'input_file') return;
    const message = `The model does not take '${type}' parts.`;
    throw new ApiError('unsupported_parameter', { param: `${path}[${index}]`, message });
  });
}
