// Context as an agent has it: code, prose and other scripts, with names that do not repeat. A text of few words would
// flatter every tokenizer that remembers words.

/** A generator of numbers below `limit` that gives the same ones for the same seed (Lehmer, MINSTD). */
function random(seed) {
  let state = seed + 1;
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
}

const SYLLABLES = 'ba co de fi gu ka lo me ni pu ra so te vi xu za str tion ly er'.split(' ');
const HANGUL = 0xac00;

/** About `tokens` tokens: 40 % code, 40 % English-like prose, 20 % Korean (the mix of the tokenizer's own measurements). */
export function contextText(tokens, seed) {
  const pick = random(seed);
  const word = () => Array.from({ length: 1 + pick(4) }, () => SYLLABLES[pick(SYLLABLES.length)]).join('');
  const hangul = () =>
    Array.from({ length: 1 + pick(4) }, () => String.fromCharCode(HANGUL + pick(2_000))).join('');
  const code = () => `  const ${word()}_${word()} = ${word()}.${word()}(${pick(100_000)}, '${word()}');\n`;
  const prose = () => `${Array.from({ length: 12 }, word).join(' ')}.\n`;
  const korean = () => `${Array.from({ length: 8 }, hangul).join(' ')}.\n`;
  const lines = [code, code, prose, prose, korean];
  let text = '';
  while (text.length < tokens * CHARACTERS_PER_TOKEN) text += lines[pick(lines.length)]();
  return text;
}

/** Measured with the o200k vocabulary on this text. */
const CHARACTERS_PER_TOKEN = 2.06;
