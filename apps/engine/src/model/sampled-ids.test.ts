import { describe, expect, it } from '@jest/globals';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import fc from 'fast-check';
import { PromptBuilder, WEATHER_TOOL } from '../../testing/conversation.js';
import { sample } from '../../testing/sample.js';
import { SimulatedModel } from './simulated-model.js';

const tokenizer = o200kHarmony();

describe('sampled ids', () => {
  const markers = fc.constantFrom(
    '',
    'tokens=90',
    'reason=40',
    'emoji=1',
    'commentary=1',
    'parallel=2',
    'call-form=channel',
  );
  const prompts = fc
    .tuple(fc.string({ unit: 'binary' }), markers, fc.boolean(), fc.array(fc.string(), { maxLength: 2 }))
    .map(([text, marker, tools, outputs]) => {
      const builder = new PromptBuilder({ tools: tools ? [WEATHER_TOOL] : [] }).user(
        `${text} [sim ${marker}]`,
      );
      for (const output of outputs) builder.output('get_weather', output);
      return builder.generation();
    });

  it('are the same for the same prompt', () => {
    fc.assert(
      fc.property(prompts, (prompt) => {
        expect(sample(prompt).sampled).toEqual(sample(prompt).sampled);
      }),
      { numRuns: 20 },
    );
  });

  it("are the tokenizer's own encoding of what each message says", () => {
    fc.assert(
      fc.property(prompts, (prompt) => {
        const { sampled } = sample(prompt);
        const again: number[] = [];
        let run: number[] = [];
        const flush = () => {
          again.push(...tokenizer.encode(tokenizer.decode(run)));
          run = [];
        };
        for (const id of sampled) {
          if (id < HARMONY.startOfText) run.push(id);
          else {
            flush();
            again.push(id);
          }
        }
        flush();
        expect(again).toEqual(sampled);
      }),
      { numRuns: 60 },
    );
  });

  it('do not depend on whether the prompt was read at once or bit by bit', () => {
    fc.assert(
      fc.property(prompts, fc.nat(), (prompt, seed) => {
        const model = new SimulatedModel(tokenizer);
        const cut = seed % prompt.length;
        const earlier = model.reader.scan(Int32Array.from(prompt.slice(0, cut)), [], 0);
        const ids = Int32Array.from(prompt);
        const messages = model.reader.scan(ids, earlier, cut);
        expect(messages).toEqual(model.reader.scan(ids, [], 0));
        expect(model.respond(ids, messages).ids).toEqual(sample(prompt).output.ids);
      }),
      { numRuns: 30 },
    );
  });
});
