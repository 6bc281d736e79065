import { describe, expect, it } from '@jest/globals';
import { parseArguments } from './cli.js';
import { ConfigError } from './config/load.js';

describe('--sim', () => {
  it.each([
    ['', []],
    [' --tps  200 ', ['--tps', '200']],
    [`--script "calls=2 reason=0" --tps 5`, ['--script', 'calls=2 reason=0', '--tps', '5']],
    [`--script 'calls=2 reason=0'`, ['--script', 'calls=2 reason=0']],
    [`--script="it's fine"`, ["--script=it's fine"]],
    [`--script ''`, ['--script', '']],
  ])('%j', (text, words) => {
    expect(parseArguments([`--sim=${text}`]).sim).toEqual(words);
  });

  it('has no open quote', () => {
    expect(() => parseArguments(['--sim=--script "calls=2'])).toThrow(ConfigError);
  });

  it('is empty unless given; an unknown option is named', () => {
    expect(parseArguments([]).sim).toEqual([]);
    expect(() => parseArguments(['--bogus'])).toThrow(/--bogus/);
  });
});
