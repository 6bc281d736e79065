import { HARMONY } from '@turnpike/formats';
import { headerRest, messageHeader, type Piece } from './header.js';
import { type CallForm } from './markers.js';
import { type Plan } from './plan.js';
import { type PlannedMessage } from './planned-message.js';
import { type OpenMessage } from './read-prompt.js';

/** How an output begins where its prompt ends. */
export interface Opening {
  /** The messages to write, the first of which continues what the prompt left open. */
  readonly messages: readonly PlannedMessage[];
  /** What comes before the content of the first one. */
  readonly header: readonly Piece[];
  readonly form: CallForm;
}

const FORMS: readonly CallForm[] = ['role', 'channel'];

/**
 * Fits a plan to a prompt. After the bare generation prompt it is what the model wanted to write; after the beginning
 * of a header, as a gateway writes it to force a call, it is the first of the plan's messages that begins so.
 */
export function openOutput(plan: Plan, open: OpenMessage | undefined): Opening {
  const form = plan.script.form ?? 'role';
  const begin = (before: Piece[]): Opening => {
    const first = plan.messages[0];
    const header = first ? messageHeader(first, form) : [];
    return { messages: plan.messages, header: [...before, HARMONY.start, ...header], form };
  };
  if (!open) return begin([]);
  // The prompt was cut inside somebody else's message: it is ended first.
  if (!'assistant'.startsWith(open.header) && !/^assistant\b/.test(open.header)) {
    return begin(open.content === undefined ? [HARMONY.message, HARMONY.end] : [HARMONY.end]);
  }
  return continued(plan, open, form) ?? forced(plan, open, form);
}

function continued(plan: Plan, open: OpenMessage, form: CallForm): Opening | undefined {
  const forms = [form, ...FORMS.filter((other) => other !== form)];
  const finished = open.content !== undefined;
  const written = finished ? `${open.header}<|message|>` : open.header;
  for (const messages of [plan.messages, ...plan.alternatives]) {
    for (const tried of forms) {
      const header = messages[0] && headerRest(messageHeader(messages[0], tried), written);
      if (header) return { messages: remainder(messages, open.content ?? ''), header, form: tried };
    }
  }
  return undefined;
}

/** A header that the model would not write: its recipient and its channel are taken, the rest is let be. */
function forced(plan: Plan, open: OpenMessage, form: CallForm): Opening {
  const recipient = / to=([^\s<]+)/.exec(open.header)?.[1];
  const channel = /<\|channel\|>([^\s<]+)/.exec(open.header)?.[1];
  const candidates = [plan.messages, ...plan.alternatives];
  const messages = candidates.find(([first]) =>
    recipient === undefined
      ? !first?.recipient && first?.channel === channel
      : first?.recipient === recipient,
  ) ?? [
    recipient === undefined
      ? { channel: 'final', text: 'done' }
      : { channel: 'commentary', recipient, text: '{}' },
  ];
  const header = open.content === undefined ? [HARMONY.message] : [];
  return { messages: remainder(messages, open.content ?? ''), header, form };
}

/** The messages without the beginning of the first one's text that stands there already. */
function remainder(messages: readonly PlannedMessage[], written: string): readonly PlannedMessage[] {
  const [first, ...rest] = messages;
  if (!first || !first.text.startsWith(written)) return messages;
  return [{ ...first, text: first.text.slice(written.length) }, ...rest];
}
