import { callArguments, type CallContext } from './arguments.js';
import { type OfferedTool } from './developer-message.js';

/** How many tokens of plain words follow a message's text. */
export type Padding =
  /** As many as bring the content to this length. */
  | { readonly kind: 'upTo'; readonly tokens: number }
  /** Without end. */
  | { readonly kind: 'endless' };

/** One message that the model is about to write. */
export interface PlannedMessage {
  readonly channel: 'analysis' | 'commentary' | 'final';
  /** Who is called, as in "functions.get_weather"; undefined for a message to the user. */
  readonly recipient?: string;
  /** The content type: whether `<|constrain|>json` is written. */
  readonly json?: boolean;
  readonly text: string;
  readonly padding?: Padding;
}

export function callMessage(tool: OfferedTool, context: CallContext): PlannedMessage {
  return {
    channel: 'commentary',
    recipient: tool.recipient,
    json: !tool.custom,
    text: callArguments(tool, context),
  };
}
