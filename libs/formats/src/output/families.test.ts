import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GOLDENS } from '../testing/goldens/index.js';
import { AnyTokens, brief, cutBy, cuts, joined, markersIn, parse, TOOLS } from './test-support.js';

describe.each(GOLDENS)('$family', ({ grammar, opened = '', output, reason = 'stop', messages }) => {
  const tokenizer = new AnyTokens([...markersIn(grammar), '<｜Assistant｜>', '[/INST]', '<|assistant|>']);
  const begun = tokenizer.idsOf(opened);

  it('is read', () => {
    const run = parse(grammar, tokenizer, tokenizer.idsOf(output), { tools: TOOLS, opened: begun, reason });
    expect(run.messages.map(brief)).toEqual(messages);
  });

  it('is read the same whatever its tokens and chunks are, and every id belongs to one message', () => {
    fc.assert(
      fc.property(cuts, cuts, (sizes, chunks) => {
        const ids = tokenizer.idsOf(output, cutBy(sizes));
        const run = parse(grammar, tokenizer, ids, { tools: TOOLS, opened: begun, reason, chunks });
        expect(run.messages.map(brief)).toEqual(messages);
        expect(run.messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(ids.length);
        const last = run.messages.at(-1);
        const kept = last?.complete === false && 'name' in last.header ? last.sampled : 0;
        expect(run.messages.flatMap((message) => message.ids)).toEqual(
          [...begun, ...ids].slice(0, begun.length + ids.length - kept),
        );
        const whole = parse(grammar, tokenizer, ids, {
          tools: TOOLS,
          opened: begun,
          reason,
          chunks: [ids.length],
        });
        expect(joined(run.events)).toEqual(joined(whole.events));
      }),
      { numRuns: 30 },
    );
  });
});

describe('a vocabulary without the markers', () => {
  const noEnd = (text: string) =>
    text.replace(
      /<\|im_end\|>|<\|eot_id\|>|<\/s>|<｜end▁of▁sentence｜>|<\|observation\|>|\[e~\[|<\|END_OF_TURN_TOKEN\|>|<\|eom_id\|>/g,
      '',
    );
  const written = GOLDENS.filter(({ needsControls }) => needsControls !== true);

  it.each(written)(
    'has them in text: $family',
    ({ grammar, output, reason = 'stop', opened = '', messages }) => {
      const tokenizer = new AnyTokens([
        '<|im_start|>',
        '<|start_header_id|>',
        '<|end_header_id|>',
        ']~b]',
        '<|im_assistant|>',
        '<|im_middle|>',
        '<｜Assistant｜>',
        '[/INST]',
        '<|assistant|>',
      ]);
      fc.assert(
        fc.property(cuts, (sizes) => {
          const ids = tokenizer.idsOf(noEnd(output), cutBy(sizes));
          const run = parse(grammar, tokenizer, ids, {
            tools: TOOLS,
            opened: tokenizer.idsOf(opened),
            reason,
          });
          expect(run.messages.map(brief)).toEqual(messages);
        }),
        { numRuns: 20 },
      );
    },
  );
});
