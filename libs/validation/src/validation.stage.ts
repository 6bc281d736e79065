import { ApiError, type Item, type MessagePart, type ToolOutputItem } from '@turnpike/protocol';
import { shownItems, stageToken, type Turn, type TurnItem, type TurnStage } from '@turnpike/turns';
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
    const { known, items } = turn;
    const before = previous ?? fold(NOTHING, turn, turn.history(), 'input');
    const kept = Math.max(0, -known);
    const joined = kept === 0 ? before : fold(before, turn, items.slice(0, kept), 'conversation');
    const brought = kept === 0 ? items : items.slice(kept);
    const validated = fold(joined, turn, brought, 'input');
    if (turn.phase === 'input') {
      brought.forEach(({ item }, index) => {
        const path = `input[${kept + known + index}]`;
        refuseFiles(item, path);
        checkUpdate(item, path);
      });
      requireCallable(turn.request, validated.addedTools);
      answerCheck(turn.request.text.format);
      if (turn.request.generate) requireAnswered(validated.waitingCalls);
    }
    return validated;
  }
}

/** @param param the field that the items come from */
function fold(known: Validated, turn: Turn, turnItems: readonly TurnItem[], param: string): Validated {
  const { startsAnew, entries } = shownItems(turnItems);
  const before = startsAnew ? NOTHING : known;
  const items = entries.map(({ item }) => item);
  turn.count('items_validated', items.length);
  const waitingCalls = foldCalls(before.waitingCalls, items, param);
  const addedTools = foldTools(before.addedTools, items);
  const changed = waitingCalls !== before.waitingCalls || addedTools !== before.addedTools;
  return changed ? { waitingCalls, addedTools } : before;
}

/**
 * A format that an item brings has to be one that answers can be checked against.
 * @param path of the item, as in `input[2]`
 * @throws ApiError invalid_value on the format's schema
 */
export function checkUpdate(item: Item, path: string): void {
  if (item.type === 'configuration_update' && item.text?.format !== undefined) {
    answerCheck(item.text.format, `${path}.text.format`);
  }
}

/**
 * No engine behind this server takes files, and an answer that ignored them would be wrong.
 * @param path of the item, as in `input[2]`
 * @throws ApiError unsupported_parameter naming the part
 */
export function refuseFiles(item: Item, path: string): void {
  if (item.type === 'message') refuseFileParts(item.content, `${path}.content`);
  else if (isToolOutput(item) && typeof item.output !== 'string')
    refuseFileParts(item.output, `${path}.output`);
}

function isToolOutput(item: Item): item is ToolOutputItem {
  return item.type === 'function_call_output' || item.type === 'custom_tool_call_output';
}

function refuseFileParts(parts: readonly MessagePart[], path: string): void {
  parts.forEach(({ type }, index) => {
    if (type !== 'input_file') return;
    const message = "The model does not take 'input_file' parts: send what is in the file as 'input_text'.";
    throw new ApiError('unsupported_parameter', { param: `${path}[${index}]`, message });
  });
}
