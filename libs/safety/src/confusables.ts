/**
 * Letters that are read as a Latin one, by that letter. A selection of the Unicode confusables (UTS #39): letters of
 * Cyrillic, Greek, Armenian, Cherokee and Latin extensions that have no compatibility decomposition of their own.
 */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: 'аɑαᴀꭺ⍺',
  b: 'ЬЪвʙᏏьƅ',
  c: 'сϲᴄꮯⅽᏟ',
  d: 'ԁᴅꓒɗđᏧ',
  e: 'еєҽεᴇɛꭼəєᎬ',
  f: 'ғꜰſϝք',
  g: 'ɡցɢԍᶃᏀ',
  h: 'һհнʜᏂ',
  i: 'іɩιıɪӏꙇᎥ',
  j: 'јϳᴊʝᎫ',
  k: 'кκᴋҡᏦ',
  l: 'ʟιӀǀꓡᏞł',
  m: 'мᴍᎷ',
  n: 'пηɴոռռᏁ',
  o: 'оοσօᴏө๐၀໐ᴑøᏫ',
  p: 'рρᴘƿᏢ',
  q: 'ԛզգ',
  r: 'гᴦʀꭇᏒ',
  s: 'ѕꜱʂᏚ',
  t: 'тτᴛᎢŧ',
  u: 'υսᴜцʋᑌ',
  v: 'ѵνᴠᏙ',
  w: 'ԝшωᴡѡᎳ',
  x: 'хχ×ҳ',
  y: 'уүγʏყᎽ',
  z: 'ᴢʐᏃ',
};

/** The Latin letter that each look-alike, in lower case, is read as. */
export const CONFUSABLES: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([letter, alikes]) =>
    [...alikes].map((alike) => [alike.toLowerCase(), letter] as const),
  ),
);
