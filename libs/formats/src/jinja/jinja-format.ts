import { createHash } from 'node:crypto';
import { wholeSpan } from '../dialog/think.js';
import type { Format, Opening, Piece, Place } from '../format.js';
import { formatName } from '../dialog/dialog-format.js';
import { systemText } from '../dialog/system-text.js';
import { turnParser } from '../output/turn-parser.js';
import { withoutStops } from '../output/without-stops.js';
import { itemSegmentKind, spokenOf } from '../spoken/items.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { chatTool, declarationsOf } from '../tools/declarations.js';
import { ANSWER, QUESTION, turnEdges, UnstableTemplate, withoutStart, type TurnEdges } from './bridge.js';
import { grammarFor } from './grammar-for.js';
import { Escapes } from './escape.js';
import { templateMessage, withSpoken, type PendingMessage } from './messages.js';
import { ChatTemplate } from './template.js';

export interface JinjaFormatOptions {
  /** The chat template's text. */
  readonly template: string;
  readonly tokenizer: Tokenizer;
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
export function jinjaFormat({ template: text, tokenizer }: JinjaFormatOptions): Format {
  const template = new ChatTemplate(text);
  const escapes = new Escapes(tokenizer);
  const render = (
    messages: readonly PendingMessage[],
    values: Readonly<Record<string, unknown>> = {},
    date?: string,
  ) =>
    escapes.pieces(
      template.render(
        {
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
  const generations = generationsOf(render, encode);
  const think = ['<think>', '</think>'].flatMap((mark) => tokenizer.controlId(mark) ?? []);
  const marks =
    think[0] === undefined || think[1] === undefined ? undefined : { begin: think[0], end: think[1] };

  /** What the template writes behind an answer: the end of its turn, and these messages. */
  const behindAnswer = (messages: readonly PendingMessage[]): Piece[] => {
    const pieces = render([QUESTION, answerBefore(messages), ...messages]);
    const answered = pieces.findIndex((piece) => typeof piece === 'string' && piece.includes(ANSWER.content));
    const stop = pieces.findIndex((piece, index) => index > answered && isStop(piece, edges));
    return stop === -1 ? [] : pieces.slice(stop);
  };
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
    name: formatName(`jinja-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`, tokenizer),
    tokenizer,
    stopIds: edges.stops,
    dropsFinishedReasoning: dropsReasoning(render),
    renderHead: (settings) => {
      const system = systemText(settings);
      const tools = declarationsOf(settings.tools).map((tool) => escapes.value(chatTool(tool)));
      const messages: PendingMessage[] = system === undefined ? [] : [{ role: 'system', content: system }];
      const pieces = render([...messages, QUESTION], tools.length > 0 ? { tools } : {}, settings.date);
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
      const messages = spoken.reduce(withSpoken, base.messages);
      return { pieces, place: pack({ ...base, messages }) };
    },
    takeOver: (_item, ids, place) => {
      const known = unpack(place);
      const begins = generations.some(
        (opened) => opened.length > 0 && opened.every((id, at) => ids[at] === id),
      );
      const goesOn = known.behind === 'open' && known.messages.length === 0;
      if (!begins && !goesOn && generations.some(({ length }) => length > 0)) return undefined;
      const ended = edges.stops.includes(ids.at(-1) ?? -1);
      return { closes: begins || !goesOn, place: pack({ behind: ended ? 'ended' : 'open', messages: [] }) };
    },
    closing: (place) => bridge(unpack(place)),
    segmentKind: itemSegmentKind,
    reasoningSpan: (run) => (marks === undefined ? [run.length, run.length] : wholeSpan(run, marks)),
    generationPrompt: (_place, effort, opening?: Opening) =>
      generations[effort === 'none' || effort === 'minimal' || opening !== undefined ? 1 : 0] ?? [],
    parser: (tools, opened = generations[0] ?? []) =>
      // Where the mark of the next turn ends one, history has it there.
      withoutStops(
        turnParser(grammar, { tokenizer, tools, opened }),
        edges.close.length === 0 ? edges.stops : [],
      ),
  };
}

type Render = (
  messages: readonly PendingMessage[],
  values?: Readonly<Record<string, unknown>>,
  date?: string,
) => Piece[];

/** What makes a model answer, with reasoning and without. */
function generationsOf(
  render: Render,
  encode: (pieces: readonly Piece[]) => number[],
): readonly (readonly number[])[] {
  const plain = render([QUESTION]);
  return [{}, { enable_thinking: false, thinking: false }].map((values) => {
    const opened = withoutStart(render([QUESTION], { ...values, add_generation_prompt: true }), plain);
    if (opened === undefined)
      throw new UnstableTemplate('it writes a question otherwise when it is to be answered');
    return encode(opened.filter((piece) => piece !== ''));
  });
}

/** Whether the template leaves reasoning out once a question follows. */
function dropsReasoning(render: Render): boolean {
  const reasoning = 'Turnpike thinks: thought 77d2.';
  const pieces = render([QUESTION, { ...ANSWER, reasoning }, QUESTION]);
  return !pieces.some((piece) => typeof piece === 'string' && piece.includes(reasoning));
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

function isStop(piece: Piece, { stops, close, userOpen }: TurnEdges): boolean {
  if (typeof piece !== 'number') return false;
  // Where a turn has no end, the mark of any other turn is one.
  return stops.includes(piece) || (close.length === 0 && userOpen[0] === piece);
}

function pack({ behind, messages }: JinjaPlace): Place {
  return behind === 'turn' && messages.length === 0 ? undefined : { behind, messages };
}

function unpack(place: Place): JinjaPlace {
  return place === undefined ? START : { ...START, ...(place as Partial<JinjaPlace>) };
}
