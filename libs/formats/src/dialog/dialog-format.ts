import { createHash } from 'node:crypto';
import type { Item } from '@turnpike/protocol';
import type { Format, OpenCalls, Opening, Piece, Place } from '../format.js';
import { itemSegmentKind, spokenOf } from '../spoken/items.js';
import type { TurnGrammar } from '../output/turn-grammar.js';
import { turnParser } from '../output/turn-parser.js';
import { withoutStops } from '../output/without-stops.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { declarationsOf } from '../tools/declarations.js';
import { qualifiedName } from '../tools/namespaces.js';
import type { Dialect, Turn } from './dialect.js';
import { dialogCall, DialogFold, withReference } from './fold.js';
import { systemText } from './system-text.js';
import { packPlace, unpackPlace, type DialogPlace } from './place.js';
import { PieceWriter } from './piece-writer.js';

export interface DialogFormatOptions {
  /** Of the family. */
  readonly family: string;
  readonly tokenizer: Tokenizer;
  readonly dialect: Dialect;
  readonly grammar: TurnGrammar;
}

const NO_CALLS: OpenCalls = new Map();

/** A format of a family that is written in turns. Its name is that of the family and the vocabulary: the ids depend on both. */
export function dialogFormat({ family, tokenizer, dialect, grammar }: DialogFormatOptions): Format {
  const encode = (pieces: readonly Piece[]): number[] =>
    pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
  const plain = new Map<string, readonly number[]>();
  const generation = (before: Turn, reasons: boolean): readonly number[] => {
    const key = `${before} ${reasons}`;
    const known = plain.get(key);
    if (known !== undefined) return known;
    const out = new PieceWriter();
    dialect.generation(before, reasons, out);
    const ids = encode(out.finish());
    plain.set(key, ids);
    return ids;
  };
  const generationPrompt = (place: Place, effort?: string, opening?: Opening): readonly number[] => {
    const { turn } = unpackPlace(place);
    if (opening?.kind !== 'call')
      return generation(turn, opening === undefined && reasonsBy(effort, dialect));
    const [only, ...others] = opening.targets;
    const out = new PieceWriter();
    dialect.callOpening(only !== undefined && others.length === 0 ? qualifiedName(only) : undefined, out);
    return [...generation(turn, false), ...encode(out.finish())];
  };
  return {
    name: formatName(family, tokenizer),
    tokenizer,
    stopIds: [...dialect.ends, ...(dialect.otherStops ?? [])],
    dropsFinishedReasoning: dialect.dropsFinishedReasoning,
    renderHead: (settings) => {
      const out = new PieceWriter();
      dialect.head(
        {
          system: systemText(settings),
          tools: declarationsOf(settings.tools),
          date: settings.date,
          reasons: reasonsBy(settings.reasoningEffort, dialect),
        },
        out,
      );
      return out.finish();
    },
    renderItem: (item, { calls, place }) => {
      const spoken = spokenOf(item, calls);
      if (spoken.length === 0) return { pieces: [], place };
      const fold = new DialogFold(dialect, unpackPlace(place));
      for (const each of spoken) fold.say(each);
      const end = packPlace(fold.end());
      return { pieces: fold.out.finish(), place: end };
    },
    takeOver: (item, ids, place) => takeOver(item, ids, unpackPlace(place), dialect, tokenizer),
    closing: (place) => {
      const fold = new DialogFold(dialect, unpackPlace(place));
      fold.close();
      return fold.out.finish();
    },
    segmentKind: itemSegmentKind,
    reasoningSpan: (run) => dialect.reasoningSpan(run),
    generationPrompt,
    parser: (tools, opened = generationPrompt(undefined)) =>
      withoutStops(turnParser(grammar, { tokenizer, tools, opened }), dialect.otherStops ?? []),
  };
}

/** Ids mean something in one vocabulary alone, so what that is read from is part of the name; where it is read from is not. */
export function formatName(family: string, { name, fingerprint }: Tokenizer): string {
  return `${family}/${name}-${createHash('sha256').update(fingerprint).digest('hex').slice(0, 16)}`;
}

function takeOver(item: Item, ids: Int32Array, place: DialogPlace, dialect: Dialect, tokenizer: Tokenizer) {
  const goesOn = place.open && place.turn === 'assistant' && place.sampled;
  const begins =
    dialect.header === undefined
      ? !goesOn
      : ids[0] === dialect.header || (dialect.goesOnBehindTools === true && place.turn === 'tools');
  if (!begins && !goesOn) return undefined;
  const last = ids.at(-1) as number;
  const ended = dialect.ends.includes(last);
  const [spoken] = spokenOf(item, NO_CALLS);
  const called = spoken?.kind === 'call' ? spoken : undefined;
  const index = begins ? 0 : place.index;
  const call = called && dialogCall(called, index, place.count);
  const reference = call && dialect.reference?.(call, tokenizer.decode(ids));
  const { afterReasoning } = dialect;
  const held = afterReasoning?.end === last ? afterReasoning.text : '';
  const next: DialogPlace = {
    turn: 'assistant',
    open: !ended,
    part: called !== undefined ? 'calls' : item.type === 'reasoning' ? 'reasoning' : 'text',
    sampled: !ended,
    held: ended ? (dialect.afterEnd ?? '') : held,
    index: index + (called === undefined ? 0 : 1),
    count: place.count + (called === undefined ? 0 : 1),
    references: withReference(place.references, called?.id, reference),
  };
  return { closes: begins, place: packPlace(next) };
}

function reasonsBy(effort: string | undefined, { reasons }: Dialect): boolean {
  return effort === undefined ? reasons : effort !== 'none' && effort !== 'minimal';
}
