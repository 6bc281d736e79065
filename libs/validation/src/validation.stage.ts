import { ApiError, type Item, type MessagePart } from '@turnpike/protocol';
import { stageToken, type Turn, type TurnItem, type TurnStage } from '@turnpike/turns';
import { answerCheck } from './answer-schema.js';
import { requireCallable } from './tool-choice.js';
import { foldTools } from './tool-names.js';
import { foldCalls, requireAnswered } from './tool-pairing.js';
import type { Validated } from './validated.js';
import { validatedCodec } from './validated-codec.js';

export const Validation = stageToken<Validated>('validation');

const NOTHING: Validated = { waitingCalls: new Map(), addedTools: [] };

/**
 * The rules that need the conversation: the shape of each item was settled when the request was parsed. New items
 * only; what came before was validated in its own turn.
 */
export class ValidationStage implements TurnStage<Validated> {
  readonly token = Validation;
  readonly codec = validatedCodec;
  readonly needs = [];

  advance(previous: Validated | undefined, turn: Turn): Validated {
    const before = previous ?? fold(NOTHING, turn, turn.history());
    const validated = fold(before, turn, turn.items);
    if (turn.phase === 'input') {
      turn.items.forEach(({ item }, index) => refuseFiles(item, `input[${turn.known + index}]`));
      requireCallable(turn.request, validated.addedTools);
      answerCheck(turn.request.text.format);
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

/** No engine behind this server takes files, and an answer that ignored them would be wrong. */
function refuseFiles(item: Item, path: string): void {
  if (item.type === 'message') refuseFileParts(item.content, `${path}.content`);
  else if ('output' in item && typeof item.output !== 'string')
    refuseFileParts(item.output, `${path}.output`);
}

function refuseFileParts(parts: readonly MessagePart[], path: string): void {
  parts.forEach(({ type }, index) => {
    if (type !== 'input_file') return;
    const message = "The model does not take 'input_file' parts: send what is in the file as 'input_text'.";
    throw new ApiError('unsupported_parameter', { param: `${path}[${index}]`, message });
  });
}
