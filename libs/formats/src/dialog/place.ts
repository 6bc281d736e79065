import type { Place } from '../format.js';
import type { Part, Turn } from './dialect.js';

/** Where a conversation of turns is. */
export interface DialogPlace {
  readonly turn: Turn;
  /** Whether that turn goes on. */
  readonly open: boolean;
  readonly part: Part;
  /** Whether the model wrote what stands last, so that more of its ids can follow. */
  readonly sampled: boolean;
  /** Text that is encoded together with what follows. */
  readonly held: string;
  /** Calls, or outputs, in the turn. */
  readonly index: number;
  /** Calls in the conversation. */
  readonly count: number;
  /** How outputs refer to calls that have none yet, by call id. */
  readonly references: Readonly<Record<string, string>>;
}

const START: DialogPlace = {
  turn: 'head',
  open: false,
  part: 'nothing',
  sampled: false,
  held: '',
  index: 0,
  count: 0,
  references: {},
};

/** A place as it stands in a chain: what is as at the start is left out. */
export function packPlace(place: DialogPlace): Place {
  const changed = Object.entries(place).filter(
    ([key, value]) =>
      value !== START[key as keyof DialogPlace] &&
      !(key === 'references' && Object.keys(place.references).length === 0),
  );
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

export function unpackPlace(place: Place): DialogPlace {
  return place === undefined ? START : { ...START, ...(place as Partial<DialogPlace>) };
}
