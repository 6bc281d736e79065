import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chooseSequence } from './sequence-choice.js';

const kept = (tokens: number[], opening = tokens.length, salt = '') => ({
  tokens,
  opening,
  salt,
  settled: true,
});
const EMPTY = kept([]);
const choose = (idle: ReturnType<typeof kept>[], prompt: number[], salt = '') => {
  const choice = chooseSequence({ idle, copies: false }, prompt, salt);
  return choice && [idle.indexOf(choice.candidate), choice.keep];
};
/** Where sequences can be copied: with the one that is copied from. */
const chooseOf = (idle: ReturnType<typeof kept>[], prompt: number[], leaving: typeof idle = []) => {
  const choice = chooseSequence({ idle, leaving, copies: true }, prompt, '');
  const at = choice?.source && idle.indexOf(choice.source);
  return choice && [idle.indexOf(choice.candidate), choice.keep, at];
};

describe('chooseSequence', () => {
  it('finds the sequence of the next turn of a chain', () => {
    expect(choose([EMPTY, kept([1, 2, 9], 2), kept([1, 2, 3, 4], 2)], [1, 2, 3, 4, 5, 6])).toEqual([2, 4]);
  });

  it('finds it for a fork, wherever behind the opening it branches off', () => {
    const chain = kept([1, 2, 3, 4, 5, 6, 7, 8, 9], 2);
    expect(choose([EMPTY, chain], [1, 2, 3, 8])).toEqual([1, 3]);
    expect(choose([EMPTY, chain], [1, 2, 7])).toEqual([1, 2]);
  });

  it('copies what a fork shares into another sequence, so that both branches stay', () => {
    const chain = kept([1, 2, 3, 4, 5, 6], 2);
    expect(chooseOf([chain, EMPTY], [1, 2, 3, 8])).toEqual([1, 3, 0]);
    // The same prompt once more.
    expect(chooseOf([chain, EMPTY], [1, 2, 3])).toEqual([1, 2, 0]);
    // What goes on is no fork.
    expect(chooseOf([EMPTY, chain], [1, 2, 3, 4, 5, 6, 7])).toEqual([1, 6, undefined]);
  });

  it('copies nothing for an end that nobody can go on from, nor where more would be lost by it', () => {
    const cut = { ...kept([1, 2, 3, 4, 5, 6], 2), settled: false };
    expect(chooseOf([cut, EMPTY], [1, 2, 3, 8])).toEqual([0, 3, undefined]);
    const chain = kept([1, 2, 3, 4, 5], 2);
    expect(chooseOf([chain, kept([7, 8])], [1, 2, 3, 9])).toEqual([0, 3, undefined]);
    expect(chooseOf([chain, kept([7])], [1, 2, 3, 9])).toEqual([1, 3, 0]);
    // Of one that branched off before, only the branch would be.
    expect(chooseOf([chain, kept([1, 2, 3, 7])], [1, 2, 3, 9])).toEqual([1, 3, 0]);
    expect(chooseOf([chain], [1, 2, 3, 9], [EMPTY])).toEqual([0, 3, undefined]);
  });

  it('evaluates the last token of a prompt in any case', () => {
    expect(choose([EMPTY, kept([1, 2, 3])], [1, 2, 3])).toEqual([1, 2]);
    expect(choose([kept([1])], [1])).toEqual([0, 0]);
  });

  it('gives another conversation with the same beginning an empty sequence', () => {
    expect(choose([kept([1, 2, 3, 4], 4), EMPTY], [1, 2, 3, 9, 9])).toEqual([1, 0]);
    expect(choose([kept([5, 6]), EMPTY], [1])).toEqual([1, 0]);
  });

  it('takes, when none is empty, the least recently used of those that share about as much as the best', () => {
    const head = [1, 2, 3, 4];
    expect(choose([kept([8, 8]), kept([1, 2, 7, 7]), kept([...head, 8])], [...head, 9])).toEqual([1, 2]);
    expect(choose([kept([8, 8]), kept([1, 7, 7, 7]), kept([...head, 8])], [...head, 9])).toEqual([2, 4]);
    expect(choose([kept([8, 8]), kept([7, 7])], [1, 2])).toEqual([0, 0]);
  });

  it('finds nothing in a sequence of another salt', () => {
    expect(choose([kept([1, 2, 3], 2, 'theirs')], [1, 2, 3, 4], 'ours')).toEqual([0, 0]);
    expect(choose([kept([1, 2, 3], 2, 'theirs'), kept([1, 2], 1, 'ours')], [1, 2, 3, 4], 'ours')).toEqual([
      1, 2,
    ]);
  });

  it('has none where none is idle', () => {
    expect(choose([], [1])).toBeUndefined();
  });

  it('never keeps a token that the prompt does not have at that place', () => {
    const tokens = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 8 });
    const candidate = { tokens, opening: fc.nat(8), salt: fc.constantFrom('', 'a'), settled: fc.boolean() };
    const candidates = fc.array(fc.record(candidate), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        candidates,
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (idle, prompt, copies) => {
          const choice = chooseSequence({ idle, copies }, prompt, 'a');
          if (!choice || (choice.source && (!copies || choice.source === choice.candidate))) return false;
          const { keep, candidate: chosen, source: candidate = chosen } = choice;
          const same = prompt.slice(0, keep).every((id, i) => candidate.tokens[i] === id);
          return same && keep < prompt.length && (keep === 0 || candidate.salt === 'a');
        },
      ),
    );
  });
});
