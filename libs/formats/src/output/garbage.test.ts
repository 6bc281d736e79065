import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type FinishReason } from '../format.js';
import {
  cohereGrammar,
  deepseekGrammar,
  dsmlGrammar,
  gemmaGrammar,
  glmGrammar,
  hermesGrammar,
  kimiGrammar,
  lfmGrammar,
  llama3Grammar,
  minimaxGrammar,
  mistralGrammar,
  qwenCoderGrammar,
} from './grammars.js';
import { AnyTokens, cutBy, cuts, joined, markersIn, parse, TOOLS } from './test-support.js';
import { type TurnGrammar } from './turn-grammar.js';

describe('garbage', () => {
  /** Their arguments are written by the parser, and are JSON whatever the model wrote. */
  const typed: TurnGrammar[] = [qwenCoderGrammar, dsmlGrammar, glmGrammar, minimaxGrammar, gemmaGrammar];
  const grammars = {
    hermesGrammar,
    qwenCoderGrammar,
    llama3Grammar,
    mistralGrammar,
    deepseekGrammar,
    dsmlGrammar,
    gemmaGrammar,
    lfmGrammar,
    glmGrammar,
    kimiGrammar,
    minimaxGrammar,
    cohereGrammar,
  };

  it.each(Object.entries(grammars))('never makes %s throw, and is counted exactly', (_, grammar) => {
    const markers = markersIn(grammar);
    const all = grammar.calls.flatMap(({ markers: own }) => own);
    const fragment = fc.oneof(
      fc.constantFrom(...markers, ...all, ...grammar.calls.map(({ open }) => open)),
      fc.constantFrom(
        '{"name": "add", ',
        '"arguments": ',
        '{"a": 1}',
        '}',
        '{',
        '[',
        ']',
        '"',
        '\\',
        ',',
        ':',
        'add',
        '\n',
        ' ',
        'x',
        '<',
        'null',
        '"name"',
        '\\u00',
      ),
      fc.string({ unit: 'binary', maxLength: 4 }),
    );
    const controls = fc.constantFrom(
      [],
      markers,
      markers.filter((_marker, index) => index % 2 === 0),
    );
    const reasons = fc.constantFrom<FinishReason>('stop', 'length', 'abort');
    fc.assert(
      fc.property(
        fc.array(fragment, { maxLength: 25 }),
        controls,
        cuts,
        reasons,
        (parts, known, sizes, reason) => {
          const tokenizer = new AnyTokens(known);
          const ids = tokenizer.idsOf(parts.join(''), cutBy(sizes));
          const run = parse(grammar, tokenizer, ids, { tools: TOOLS, reason });
          const whole = parse(grammar, tokenizer, ids, { tools: TOOLS, reason, chunks: [ids.length || 1] });
          expect(joined(run.events)).toEqual(joined(whole.events));
          if (run.messages.length > 0) {
            expect(run.messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(ids.length);
          }
          for (const { header, text, complete } of run.messages) {
            if (typed.includes(grammar) && header.type === 'function_call' && complete) JSON.parse(text);
          }
          if (run.messages.every(({ complete }) => complete)) {
            expect(run.messages.flatMap((message) => message.ids)).toEqual(
              run.messages.length > 0 ? ids : [],
            );
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
