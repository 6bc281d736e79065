import fc from 'fast-check';
import type {
  FunctionCallItem,
  Item,
  MessageItem,
  ReasoningEffort,
  ReasoningItem,
  TextFormat,
} from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

export function user(text: string): MessageItem {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}
export function answer(text: string, phase: MessageItem['phase'] = 'final_answer'): MessageItem {
  const content = [{ type: 'output_text' as const, text, annotations: [], logprobs: [] }];
  return { type: 'message', role: 'assistant', content, phase };
}
export function reasoning(text: string): ReasoningItem {
  return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] };
}
export function call(callId: string, name = 'look'): FunctionCallItem {
  return { type: 'function_call', call_id: callId, name, arguments: '{}' };
}
export function output(callId: string, text = 'found'): Item {
  return { type: 'function_call_output', call_id: callId, output: text };
}
export const SCHEMA: TextFormat = { type: 'json_schema', name: 'a', schema: { type: 'object' } };
export function update(to: { effort?: ReasoningEffort; format?: TextFormat }): Item {
  return { type: 'configuration_update', reasoning: { effort: to.effort }, text: { format: to.format } };
}
export function given(...items: Item[]): TurnItem[] {
  return items.map((item) => ({ item }));
}
export function sampled(item: Item, ids: readonly number[], format = 'fake'): TurnItem {
  return { item, sampled: { format, ids: Int32Array.from(ids) } };
}

const text = fc.string({ maxLength: 5 });
/** Mostly what cuts depend on: questions, reasoning, answers. */
const group: fc.Arbitrary<Item[]> = fc.oneof(
  { weight: 4, arbitrary: text.map((t): Item[] => [user(t)]) },
  { weight: 4, arbitrary: text.map((t): Item[] => [reasoning(t)]) },
  { weight: 3, arbitrary: text.map((t): Item[] => [answer(t)]) },
  text.map((t): Item[] => [answer(t, 'commentary')]),
  fc.tuple(fc.uuid(), text).map(([id, t]): Item[] => [call(id), output(id, t)]),
  fc.uuid().map((id): Item[] => [{ ...call(id), status: 'incomplete' }]),
  fc.uuid().map((id): Item[] => [call(id, 'never answered')]),
  fc.constant<Item[]>([{ type: 'additional_tools', role: 'developer', tools: [] }]),
  fc.constantFrom<Item[]>([update({ effort: 'low' })], [update({ effort: 'high', format: SCHEMA })]),
);
const writtenByModel = (item: Item) =>
  ['reasoning', 'function_call'].includes(item.type) ||
  (item.type === 'message' && item.role === 'assistant');
const sampling = fc.record({
  by: fc.constantFrom(undefined, 'fake', 'another'),
  ids: fc.array(fc.nat(1_000_000), { maxLength: 4 }),
});

/** Items of a conversation in any order a client or a model could bring about; some as they were sampled. */
export const items: fc.Arbitrary<TurnItem[]> = fc
  .array(fc.tuple(group, sampling), { maxLength: 24, size: 'max' })
  .map((groups) =>
    groups.flatMap(([group, { by, ids }]) =>
      group.map((item) => (by && writtenByModel(item) ? sampled(item, ids, by) : { item })),
    ),
  );

/** A list cut into turns anywhere. */
export function splits(of: fc.Arbitrary<TurnItem[]>): fc.Arbitrary<TurnItem[][]> {
  return of.chain((list) =>
    fc.array(fc.nat(list.length), { maxLength: 6 }).map((cuts) => {
      const ends = [...cuts.sort((a, b) => a - b), list.length];
      return ends.map((end, index) => list.slice(ends[index - 1] ?? 0, end));
    }),
  );
}
