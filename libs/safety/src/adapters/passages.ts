import type { ItemKind } from '../categories.js';
import type { ClassifierRequest } from '../classifier.js';

/** A text as a classifier is asked about it. */
export interface Passage {
  readonly kind: ItemKind;
  /** What came before, and is not asked about. */
  readonly context: string;
  readonly text: string;
}

/**
 * What is new, in passages of bounded length: texts of one kind that follow each other are one passage, a longer one is cut.
 * Each comes with the end of what stands before it, so that what is split over two is seen whole.
 * @param most characters of a passage
 * @param window characters of its context
 */
export function passagesOf({ texts, context }: ClassifierRequest, most: number, window: number): Passage[] {
  const passages: Passage[] = [];
  let before = context;
  const close = (kind: ItemKind, text: string): void => {
    passages.push({ kind, context: window === 0 ? '' : before.slice(-window), text });
    before = (before + text).slice(-window);
  };
  let open: { kind: ItemKind; text: string } | undefined;
  for (const { kind, text } of texts) {
    if (open !== undefined && open.kind !== kind) close(open.kind, open.text);
    let rest: string = open?.kind === kind ? open.text + text : text;
    for (; rest.length > most; rest = rest.slice(most)) close(kind, rest.slice(0, most));
    open = { kind, text: rest };
  }
  if (open !== undefined) close(open.kind, open.text);
  return passages;
}
