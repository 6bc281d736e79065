import type { Format } from '@turnpike/formats';
import type { ResponseRequest } from '@turnpike/protocol';
import { Pipeline, TurnContext, type TurnItem } from '@turnpike/turns';
import type { Rendered } from '../rendered.js';
import { Rendering, RenderingStage } from '../rendering.stage.js';
import { BODY, END, fakeFormat, fakeProvider, FormatOf, idsOf, START } from './fake-format.js';

export const REQUEST = {
  tools: [{ type: 'function', name: 'look' }],
  toolsKey: '[{"type":"function","name":"look"}]',
  toolChoice: 'auto',
  reasoning: {},
  text: { format: { type: 'text' } },
} as Partial<ResponseRequest> as ResponseRequest;

export interface Node {
  readonly rendered: Rendered;
  readonly items: readonly TurnItem[];
  readonly work: Record<string, number>;
}

/** Folds turns in a format, as a pipeline would. */
export function chain(format: Format = fakeFormat(), provider = fakeProvider()) {
  const stage = new RenderingStage(provider);
  const fold = (
    parent: Node | undefined,
    added: readonly TurnItem[],
    { settings = {}, by = format }: { settings?: Partial<ResponseRequest>; by?: Format } = {},
  ): Node => {
    const before = parent?.items ?? [];
    const request = { ...REQUEST, ...settings };
    const turn = new TurnContext({ id: 'resp_1', tenant: 't', request, items: added, history: () => before });
    const route = { token: FormatOf, needs: [], advance: () => ({ format: by }) };
    const made = new Pipeline([route, stage]).run(turn, parent && new Map([['rendering', parent.rendered]]));
    if (made instanceof Promise) throw new Error('A synchronous encoder must not cost a promise.');
    const rendered = made.get(Rendering.name) as Rendered;
    return { rendered, items: [...before, ...added], work: Object.fromEntries(turn.work) };
  };
  return { fold, calls: provider.calls };
}

export function body({ rendered }: Node): number[] {
  return [...rendered.body.toIds()];
}
export function head({ rendered }: Node): number[] {
  return [...rendered.head.tokens.toIds()];
}
/** Ids of a message as the fake format writes them. */
export function block(role: string, text: string): number[] {
  return [START, ...idsOf(role), BODY, ...idsOf(text), END];
}
