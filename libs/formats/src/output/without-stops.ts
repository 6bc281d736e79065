import type { FinishReason, OutputEvent, OutputParser } from '../format.js';

/**
 * A parser whose messages do not keep certain ids at their end: stops that history does not have there, as an end of text
 * where a turn's end belongs, or the mark of the next turn in families whose turns have no end.
 */
export function withoutStops(parser: OutputParser, stops: readonly number[]): OutputParser {
  const kept = (event: OutputEvent): OutputEvent => {
    if (event.kind !== 'close' || event.ids === undefined) return event;
    const { ids } = event;
    return stops.includes(ids.at(-1) ?? -1) ? { ...event, ids: ids.slice(0, -1) } : event;
  };
  return {
    push: (ids) => parser.push(ids).map(kept),
    finish: (reason: FinishReason) => parser.finish(reason).map(kept),
  };
}
