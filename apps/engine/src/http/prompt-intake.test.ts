import { describe, expect, it } from '@jest/globals';
import { type HarmonyMessage, o200kHarmony } from '@turnpike/formats';
import fc from 'fast-check';
import { PrefixCache } from '../cache/prefix-cache.js';
import { RequestError } from './errors.js';
import { type Intake, PromptIntake } from './prompt-intake.js';

const id = fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 201_087 }));
const ids = fc.array(id, { minLength: 1, maxLength: 20 });
const fields = fc.dictionary(
  fc.oneof(fc.constantFrom('model', 'prompt2', '"prompt":[1'), fc.string()),
  fc.jsonValue(),
);

/** A cache that has seen some requests, and the prompts it holds. */
function filled(prompts: readonly (readonly number[])[]) {
  const cache = new PrefixCache<HarmonyMessage>(8);
  const intake = new PromptIntake(cache, o200kHarmony());
  for (const prompt of prompts) {
    const { match, tail, tailJson } = intake.read(Buffer.from(JSON.stringify({ prompt })));
    cache.admit(match, tail, tailJson).sequence.append(Int32Array.of(7, 200_002));
  }
  return { cache, intake };
}

/** What matters of an intake. */
function essence({ fields: rest, length, match, tail, tailJson }: Intake) {
  return { rest, length, match, tail, tailJson: tailJson.toString() };
}

describe('PromptIntake', () => {
  it('reads the same from bytes as from parsed JSON', () => {
    /** A prompt that begins like the `which`th one seen, cut somewhere, and goes on in its own way. */
    const following = fc.record({ which: fc.nat(4), cut: fc.nat(25), more: ids });
    fc.assert(
      fc.property(fc.array(ids, { maxLength: 5 }), following, fields, fields, (seen, how, before, after) => {
        const { intake } = filled(seen);
        const prompt = [...(seen[how.which] ?? []).slice(0, how.cut), ...how.more];
        const { prompt: _1, ...head } = before;
        const { prompt: _2, ...tail } = after;
        const body = Buffer.from(JSON.stringify({ ...head, prompt, ...tail }));
        const fast = intake.readBytes(body);
        expect(fast).toBeDefined();
        expect(fast && essence(fast)).toEqual(essence(intake.readParsed(body)));
      }),
    );
  });

  it('never reads from bytes what JSON.parse would read differently', () => {
    const text = fc
      .array(
        fc.constantFrom(
          '"prompt"',
          ':',
          '[',
          ']',
          '{',
          '}',
          '1',
          '2',
          '30',
          ',',
          ' ',
          '"',
          '\\',
          '"x"',
          '"prompt":[1,2]',
        ),
        {
          maxLength: 12,
        },
      )
      .map((parts) => `{${parts.join('')}}`);
    fc.assert(
      fc.property(text, (body) => {
        const { intake } = filled([[1, 2, 30]]);
        const bytes = Buffer.from(body);
        const fast = intake.readBytes(bytes);
        if (fast) expect(essence(fast)).toEqual(essence(intake.readParsed(bytes)));
      }),
      { numRuns: 2000 },
    );
  });

  it('parses only what is new', () => {
    const long = Array.from({ length: 5000 }, (_, i) => (i * 7919) % 200_000);
    const { intake } = filled([long]);
    const read = intake.read(Buffer.from(JSON.stringify({ model: 'm', prompt: [...long, 7, 200_002, 5] })));
    expect([read.fast, read.match.tokens, [...read.tail]]).toEqual([true, 5002, [5]]);
  });

  it.each([
    '{"prompt":[1,201088]}',
    '{"prompt":[1,-1]}',
    '{"prompt":[1.5]}',
    '{"prompt":[1,]}',
    '{"prompt":[01]}',
    '[]',
  ])('refuses %s', (body) => {
    const { intake } = filled([[1, 2]]);
    expect(() => intake.read(Buffer.from(body))).toThrow(RequestError);
  });
});
