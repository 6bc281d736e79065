import { createHash } from 'node:crypto';
import { wholeSpan } from '../dialog/think.js';
import type { Format, Opening, Piece, Place } from '../format.js';
import { formatName } from '../dialog/dialog-format.js';
import { systemText } from '../dialog/system-text.js';
import { turnParser } from '../output/turn-parser.js';
import { withoutStops } from '../output/without-stops.js';
import { itemSegmentKind, spokenOf } from '../spoken/items.js';
import { ApiError } from '@turnpike/protocol';
import type { Tokenizer } from '../tokenizer/types.js';
import { chatTool, declarationsOf } from '../tools/declarations.js';
import { ANSWER, QUESTION, turnEdges, UnstableTemplate, withoutStart, type TurnEdges } from './bridge.js';
import { Generations, reasoningValues, type Reasons, type Render } from './generations.js';
import { grammarFor } from './grammar-for.js';
import { Escapes } from './escape.js';
import { templateMessage, withSpoken, type PendingMessage } from './messages.js';
import type { SpecialTokens } from './special-tokens.js';
import { ChatTemplate } from './template.js';

export interface JinjaFormatOptions {
  /** The chat template's text. */
  readonly template: string;
  readonly tokenizer: Tokenizer;
  /** What the template writes by name, as `bos_token`; a name that is not here is written as nothing. */
  readonly specialTokens?: SpecialTokens | undefined;
}

/** Where a conversation is: messages that no model has answered yet, and what stands before them. */
interface JinjaPlace {
  /** `ended`: ids that end in a stop; `open`: ids that do not. */
  readonly behind: 'turn' | 'ended' | 'open';
  readonly messages: readonly PendingMessage[];
}

const START: JinjaPlace = { behind: 'turn', messages: [] };

/**
 * A format by the model's own chat template. What a model sampled stays as it is; behind it the template writes only what is
 * new: new messages are rendered behind a question and an answer of ours, and what stands behind that answer goes behind the
 * ids. So a turn costs its messages, whatever the history; a template for which that does not hold is refused at the start.
 *
 * @throws UnstableTemplate; Error when the text is no template
 */
export function jinjaFormat({ template: text, tokenizer, specialTokens = {} }: JinjaFormatOptions): Format {
  const template = new ChatTemplate(text);
  const escapes = new Escapes(tokenizer);
  const render: Render = (messages, values = {}, date) =>
    escapes.pieces(
      template.render(
        {
          ...specialTokens,
          messages: messages.map((message) => templateMessage(message, escapes)),
          add_generation_prompt: false,
          ...values,
        },
        date,
      ),
    );
  const encode = (pieces: readonly Piece[]): number[] =>
    pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
  const edges = turnEdges(render([QUESTION, ANSWER, QUESTION]));
  const grammar = grammarFor(
    text,
    edges.stops.map((id) => tokenizer.decode([id])),
  );
  // What ends a turn with calls may be another token than what ends one without.
  const stopIds = [
    ...new Set([...edges.stops, ...grammar.ends.flatMap((end) => tokenizer.controlId(end) ?? [])]),
  ];
  const generations = new Generations(render, encode);
  const think = ['<think>', '</think>'].flatMap((mark) => tokenizer.controlId(mark) ?? []);
  const marks =
    think[0] === undefined || think[1] === undefined ? undefined : { begin: think[0], end: think[1] };

  /** What the template writes behind an answer: the end of its turn, and these messages. */
  const behindAnswer = (messages: readonly PendingMessage[]): Piece[] => {
    const before = answerBefore(messages);
    const pieces = render([QUESTION, before, ...messages]);
    const answered = pieces.findIndex((piece) => typeof piece === 'string' && piece.includes(ANSWER.content));
    // Where a turn has no end of its own, the mark of any other is one, but for the marks of calls in it.
    const marksEnd = edges.close.length === 0 && before.calls === undefined;
    const end = pieces.findIndex(
      (piece, index) =>
        index > answered && typeof piece === 'number' && (marksEnd || stopIds.includes(piece)),
    );
    if (end === -1)
      throw new ApiError('template_refused', {
        param: 'input',
        message:
          'The chat template of the model does not say where a turn ends that stands before these items.',
      });
    return pieces.slice(end);
  };
  const systemRole = roleOfLaterSystem((message) => behindAnswer([message]));
  const bridge = ({ behind, messages }: JinjaPlace): readonly Piece[] => {
    const { close } = edges;
    if (messages.length === 0) return behind === 'turn' ? [] : behind === 'open' ? close : close.slice(1);
    const pieces = behindAnswer(messages);
    if (behind === 'open' || close.length === 0) return pieces;
    return behind === 'ended' ? pieces.slice(1) : (withoutStart(pieces, close) ?? pieces);
  };
  /** Messages of a turn that is finished: written as they are before the next question. */
  const finished = (place: JinjaPlace): readonly Piece[] => {
    const whole = bridge({ ...place, messages: [...place.messages, QUESTION] });
    const asked = whole.findLastIndex(
      (piece) => typeof piece === 'string' && piece.includes(QUESTION.content),
    );
    const [first] = edges.userOpen;
    const start = whole.lastIndexOf(first as Piece, asked);
    return whole.slice(0, start);
  };
  return {
    name: formatName(
      `jinja-${createHash('sha256').update(text).update(JSON.stringify(specialTokens)).digest('hex').slice(0, 16)}`,
      tokenizer,
    ),
    tokenizer,
    stopIds,
    dropsFinishedReasoning: dropsReasoning(render),
    renderHead: (settings) => {
      const system = systemText(settings);
      const tools = declarationsOf(settings.tools).map((tool) => escapes.value(chatTool(tool)));
      const messages: PendingMessage[] = system === undefined ? [] : [{ role: 'system', content: system }];
      const values = reasoningValues(reasonsBy(settings.reasoningEffort));
      const pieces = render(
        [...messages, QUESTION],
        { ...values, ...(tools.length > 0 && { tools }) },
        settings.date,
      );
      return headOf(pieces, edges);
    },
    renderItem: (item, { calls, place }) => {
      const spoken = spokenOf(item, calls);
      if (spoken.length === 0) return { pieces: [], place };
      const known = unpack(place);
      const last = known.messages.at(-1);
      const starts =
        itemSegmentKind(item) === 'user' && last?.role === 'assistant' && last.calls === undefined;
      const pieces = starts ? finished(known) : [];
      const base: JinjaPlace = starts ? START : known;
      const messages = spoken
        .reduce(withSpoken, base.messages)
        .map((message) => (message.role === 'system' ? { ...message, role: systemRole } : message));
      return { pieces, place: pack({ ...base, messages }) };
    },
    takeOver: (_item, ids, place) => {
      const known = unpack(place);
      const goesOn = known.behind === 'open' && known.messages.length === 0;
      if (!goesOn && !generations.canBegin(ids)) return undefined;
      const ended = edges.stops.includes(ids.at(-1) ?? -1);
      return {
        closes: !goesOn || generations.begins(ids),
        place: pack({ behind: ended ? 'ended' : 'open', messages: [] }),
      };
    },
    closing: (place) => bridge(unpack(place)),
    segmentKind: itemSegmentKind,
    reasoningSpan: (run) => (marks === undefined ? [run.length, run.length] : wholeSpan(run, marks)),
    generationPrompt: (place, effort, opening?: Opening) =>
      generations.ids(
        opening === undefined ? reasonsBy(effort) : 'no',
        unpack(place).messages.at(-1)?.role === 'tool',
      ),
    parser: (tools, opened = generations.ids('default')) =>
      // History has the end that the template writes; where that is the mark of the next turn, it is written there.
      withoutStops(
        turnParser(grammar, { tokenizer, tools, opened }),
        edges.close.length === 0 ? stopIds : stopIds.filter((id) => !edges.stops.includes(id)),
      ),
  };
}

function reasonsBy(effort: string | undefined): Reasons {
  if (effort === undefined) return 'default';
  return effort === 'none' || effort === 'minimal' ? 'no' : 'yes';
}

/** As what a system message behind the head is written: as a user's, where the template would leave it out. */
function roleOfLaterSystem(behindAnswer: (message: PendingMessage) => readonly Piece[]): 'system' | 'user' {
  const rule = 'Turnpike rules: rule e81a.';
  try {
    const pieces = behindAnswer({ role: 'system', content: rule });
    return pieces.some((piece) => typeof piece === 'string' && piece.includes(rule)) ? 'system' : 'user';
  } catch (thrown) {
    // One that raises says so when there is such a message.
    if (thrown instanceof ApiError) return 'system';
    throw thrown;
  }
}

/** Whether the template leaves reasoning out once a question follows, whatever tools there are. */
function dropsReasoning(render: Render): boolean {
  const reasoning = 'Turnpike thinks: thought 77d2.';
  const tools = [{ type: 'function', function: { name: 'tool', parameters: {} } }];
  return [{}, { tools }].every((values) => {
    const pieces = render([QUESTION, { ...ANSWER, reasoning }, QUESTION], {
      ...reasoningValues('yes'),
      ...values,
    });
    return !pieces.some((piece) => typeof piece === 'string' && piece.includes(reasoning));
  });
}

/**
 * What stands before the first question.
 * @throws UnstableTemplate where the question is written otherwise than further on
 */
function headOf(pieces: readonly Piece[], { userOpen }: TurnEdges): Piece[] {
  const asked = pieces.findLastIndex(
    (piece) => typeof piece === 'string' && piece.includes(QUESTION.content),
  );
  const [first] = userOpen;
  const start = first === undefined ? -1 : pieces.lastIndexOf(first, asked);
  const opened = withoutStart(pieces.slice(start), userOpen);
  if (asked === -1 || start === -1 || !String(opened?.[0] ?? '').startsWith(QUESTION.content)) {
    throw new UnstableTemplate('it writes the first question otherwise than the next');
  }
  return pieces.slice(0, start);
}

/** The answer that these messages stand behind: with calls, where they begin with what tools gave. */
function answerBefore(messages: readonly PendingMessage[]): PendingMessage {
  const other = messages.findIndex(({ role }) => role !== 'tool');
  const outputs = other === -1 ? messages : messages.slice(0, other);
  if (outputs.length === 0) return ANSWER;
  const calls = outputs.map(({ callId = 'call', name = 'tool' }) => ({ id: callId, name, arguments: '{}' }));
  return { ...ANSWER, calls };
}

function pack({ behind, messages }: JinjaPlace): Place {
  return behind === 'turn' && messages.length === 0 ? undefined : { behind, messages };
}

function unpack(place: Place): JinjaPlace {
  return place === undefined ? START : { ...START, ...(place as Partial<JinjaPlace>) };
}
