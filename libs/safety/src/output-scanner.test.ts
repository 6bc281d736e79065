import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OutputEvent } from '@turnpike/formats';
import { MOST_HELD, OutputScanner } from './output-scanner.js';
import { testRules } from './testing/chain.js';
import { MARKER } from './testing/marker.js';

const rules = testRules();

const open: OutputEvent = { kind: 'open', header: { type: 'message', phase: 'final_answer' } };
const close: OutputEvent = { kind: 'close', ids: new Int32Array(), sampled: 1, complete: true };

/** What is shown of a text that comes in pieces. */
function shownOf(
  pieces: readonly string[],
  by = rules,
): { shown: string; scanner: OutputScanner; steps: string[] } {
  const scanner = new OutputScanner(by);
  const steps: string[] = [];
  const take = (events: OutputEvent[]) => {
    const shown = scanner.take(events).map((event) => (event.kind === 'text' ? event.text : ''));
    steps.push(shown.join(''));
  };
  take([open]);
  for (const text of pieces) take([{ kind: 'text', text }]);
  take([close]);
  return { shown: steps.join(''), scanner, steps };
}

function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
}

const writing = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        MARKER,
        MARKER.slice(0, 12),
        MARKER.slice(12),
        ' ',
        'turnpike',
        MARKER.replaceAll('T', '\\u0054'),
        '\\u00',
        Buffer.from(MARKER).toString('base64'),
      ),
      fc.string({ unit: 'binary', maxLength: 12 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));

describe('OutputScanner', () => {
  it('says the same of a text however it is cut, and shows what it passes unchanged', () => {
    fc.assert(
      fc.property(writing, fc.array(fc.nat(400), { maxLength: 12 }), (text, cuts) => {
        const whole = shownOf([text]);
        const cut = shownOf(pieces(text, cuts));
        expect(cut.scanner.blocked).toBe(whole.scanner.blocked);
        expect(cut.scanner.categories).toEqual(whole.scanner.categories);
        if (!whole.scanner.blocked) expect(cut.shown).toBe(text);
        expect(cut.shown).not.toContain(MARKER);
      }),
      { numRuns: 300 },
    );
  });

  it('shows nothing of what is blocked, wherever it is cut', () => {
    for (let cut = 0; cut <= MARKER.length; cut += 1) {
      const { shown, scanner } = shownOf([`well ${MARKER.slice(0, cut)}`, `${MARKER.slice(cut)} then`]);
      expect(scanner.blocked).toBe(true);
      expect('well '.startsWith(shown)).toBe(true);
    }
  });

  it('holds back no more than what may become a match', () => {
    expect(shownOf(['hello there']).steps).toEqual(['', 'hello there', '']);
    expect(shownOf(['see TURNPIKE-SAF', 'ARI']).steps).toEqual(['', 'see ', 'TURNPIKE-SAFARI', '']);
  });

  it('opens an item together with the first of it that is shown', () => {
    const scanner = new OutputScanner(rules);
    expect(scanner.take([open])).toEqual([]);
    expect(scanner.take([{ kind: 'text', text: 'TURN' }])).toEqual([]);
    expect(scanner.take([{ kind: 'text', text: 'IP ' }])).toEqual([open, { kind: 'text', text: 'TURNIP ' }]);
    expect(scanner.take([close])).toEqual([close]);
  });

  it('reads what is written in escapes of JSON, wherever it is cut', () => {
    const escaped = MARKER.replaceAll('T', '\\u0054').replace('-', '\\n');
    for (let cut = 0; cut <= escaped.length; cut += 1) {
      const { shown, scanner } = shownOf([`{"a":"${escaped.slice(0, cut)}`, `${escaped.slice(cut)}"}`]);
      expect(scanner.blocked).toBe(true);
      expect('{"a":"'.startsWith(shown)).toBe(true);
    }
  });

  it('shows broken escapes as they are', () => {
    const text = 'C:\\users\\new \\u00zz \\\\ \\u';
    const { shown, scanner } = shownOf([...text]);
    expect(shown).toBe(text);
    expect(scanner.mostHeld).toBeLessThan(8);
  });

  it('sees a text that is split over items', () => {
    const scanner = new OutputScanner(rules);
    scanner.take([open, { kind: 'text', text: MARKER.slice(0, 9) }, close]);
    scanner.take([open, { kind: 'text', text: MARKER.slice(9) }]);
    expect(scanner.blocked).toBe(true);
  });

  it('looks at the name of a called tool', () => {
    const scanner = new OutputScanner(rules);
    scanner.take([{ kind: 'open', header: { type: 'function_call', name: MARKER } }]);
    expect(scanner.blocked).toBe(true);
  });

  it('holds back a bounded number of characters, and finds out a phrase that is longer than that all the same', () => {
    const blanks = ' '.repeat(3 * MOST_HELD);
    const { scanner, shown } = shownOf([`${MARKER.slice(0, 12)}${blanks}`, MARKER.slice(12)]);
    expect(scanner.blocked).toBe(true);
    expect(scanner.mostHeld).toBeLessThanOrEqual(MOST_HELD);
    expect(shown).not.toContain(MARKER.slice(12));
  });
});
