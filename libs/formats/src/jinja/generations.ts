import type { Piece } from '../format.js';
import { ANSWER, QUESTION, UnstableTemplate, withoutStart } from './bridge.js';
import type { PendingMessage } from './messages.js';

/** Renders messages with values for the template. */
export type Render = (
  messages: readonly PendingMessage[],
  values?: Readonly<Record<string, unknown>>,
  date?: string,
) => Piece[];

/** Whether the model is to reason: as the template has it, or as the request says. */
export type Reasons = 'default' | 'yes' | 'no';

/** What templates call the switch of reasoning. */
const SWITCHES = ['enable_thinking', 'thinking'];

/** Values for a template that say whether to reason; those that know neither pass them over. */
export function reasoningValues(reasons: Reasons): Readonly<Record<string, boolean>> {
  if (reasons === 'default') return {};
  return Object.fromEntries(SWITCHES.map((name) => [name, reasons === 'yes']));
}

const OUTPUT: PendingMessage = {
  role: 'tool',
  content: 'Turnpike gives: output 4a0d.',
  name: 'tool',
  callId: 'call',
};
const CALL: PendingMessage = { ...ANSWER, calls: [{ id: 'call', name: 'tool', arguments: '{}' }] };

/** What makes a model answer. */
export class Generations {
  readonly #behindUser: ReadonlyMap<Reasons, readonly number[]>;
  readonly #behindTools: ReadonlyMap<Reasons, readonly number[]>;

  /** @throws UnstableTemplate where the template writes a question otherwise when it is to be answered */
  constructor(render: Render, encode: (pieces: readonly Piece[]) => number[]) {
    const behind = (messages: readonly PendingMessage[]) =>
      new Map(
        (['default', 'yes', 'no'] as const).map((reasons) => {
          const values = reasoningValues(reasons);
          const asked = render(messages, values);
          const opened = withoutStart(render(messages, { ...values, add_generation_prompt: true }), asked);
          if (opened === undefined)
            throw new UnstableTemplate('it writes a question otherwise when it is to be answered');
          return [reasons, encode(opened.filter((piece) => piece !== ''))];
        }),
      );
    this.#behindUser = behind([QUESTION]);
    let tools = this.#behindUser;
    try {
      tools = behind([QUESTION, CALL, OUTPUT]);
    } catch {
      // A template that knows no tools is asked for nothing behind them.
    }
    this.#behindTools = tools;
  }

  /** Ids behind what a tool gave, or a user said. */
  ids(reasons: Reasons, behindTools = false): readonly number[] {
    return (behindTools ? this.#behindTools : this.#behindUser).get(reasons) ?? [];
  }

  /** Whether ids begin with any of them that there is. */
  begins(ids: ArrayLike<number>): boolean {
    return this.#all().some((opened) => opened.every((id, at) => ids[at] === id));
  }

  /** Whether ids may begin an answer. */
  canBegin(ids: ArrayLike<number>): boolean {
    return this.begins(ids) || this.#all().length === 0;
  }

  #all(): (readonly number[])[] {
    return [...this.#behindUser.values(), ...this.#behindTools.values()].filter(({ length }) => length > 0);
  }
}
