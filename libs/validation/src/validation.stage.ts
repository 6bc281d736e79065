import { ApiError, type Item, type MessagePart, type ToolOutputItem } from '@turnpike/protocol';
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
      turn.items.forEach(({ item }, index) => {
        refuseMedia(item, `input[${turn.known + index}]`);
        checkUpdate(item, `input[${turn.known + index}]`);
      });
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

/** A format that an item brings has to be one that answers can be checked against. */
function checkUpdate(item: Item, path: string): void {
  if (item.type === 'configuration_update' && item.text?.format !== undefined) {
    answerCheck(item.text.format, `${path}.text.format`);
  }
}

/** No engine behind this server takes images or files, and an answer that ignored them would be wrong. */
function refuseMedia(item: Item, path: string): void {
  if (item.type === 'message') refuseMediaParts(item.content, `${path}.content`);
  else if (isToolOutput(item) && typeof item.output !== 'string')
    refuseMediaParts(item.output, `${path}.output`);
}

function isToolOutput(item: Item): item is ToolOutputItem {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
}

function refuseMediaParts(parts: readonly MessagePart[], path: string): void {
  parts.forEach(({ type }, index) => {
    if (type !== 'input_image' && type !== 'input_file') return;
    const message = `The model does not take '${type}' parts.`;
    throw new ApiError('unsupported_parameter', { param: `${path}[${index}]`, message });
  });
}
