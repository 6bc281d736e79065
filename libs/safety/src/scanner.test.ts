import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NOTHING_READ, Scanner, type Carry } from './scanner.js';
import { testRules } from './testing/chain.js';
import { MARKER } from './testing/marker.js';

const rules = testRules();
const KEY = 'ghp_q7Xz2Kf9LmP4tRb8WnV3sYd6HgJc1TeA5uEo';
const base64 = (text: string) => Buffer.from(text).toString('base64').replaceAll('=', '');
const inLines = (text: string, width: number, end: string) =>
  text.replaceAll(new RegExp(`.{${width}}(?=.)`, 'g'), `$&${end}`);

/** Rules that were found by and by in texts that go on from each other, and how each was found first. */
function foundIn(texts: readonly string[]): { found: Map<string, string>; scanner: Scanner; carry: Carry } {
  const scanner = new Scanner(rules);
  const found = new Map<string, string>();
  let carry = NOTHING_READ;
  for (const text of texts) {
    const { carries, hits } = scanner.scan(text, [carry]);
    for (const { rule, how } of hits) {
      const id = rules.rules[rule]?.id ?? '';
      found.set(id, found.get(id) ?? how);
    }
    carry = carries[0] ?? NOTHING_READ;
  }
  return { found, scanner, carry };
}

const piece = fc.oneof(
  fc.constantFrom(
    MARKER,
    base64(MARKER),
    base64(`x${MARKER}`),
    base64(base64(MARKER)),
    base64(`é${MARKER}ü`),
    inLines(base64(MARKER), 12, '\n'),
    inLines(base64(MARKER), 7, '\r\n    '),
    KEY,
    base64(KEY),
    'AKIAQ7XZ2KF9LMP4TRB8',
    'task-q7Xz2Kf9LmP4tRb8WnV3sYd6HgJc1TeA5uEo',
    '4539 1488 0343 6467',
    base64('pay 4539 1488 0343 6467'),
    'DE89 3704 0044 0532 0130 00',
    'SSN: 219-09-9999',
    `-----BEGIN RSA PRIVATE KEY-----\nMII${KEY.slice(4)}${KEY.slice(4)}`,
    '\u202eTOBA\u202c',
    '\u{e0061}\u{e0062}\u{e0063}\u{e0064}',
    '.',
    ' ',
    '\n',
    'a'.repeat(40),
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
/** Texts, and where to cut them. */
const cutText = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.array(fc.nat(600), { maxLength: 12 }))
  .map(([pieces, cuts]) => {
    const text = pieces.join('');
    const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
    return [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
  });

describe('texts that go on from each other', () => {
  it('hold what their beginnings hold, each read from its start', () => {
    fc.assert(
      fc.property(cutText, (texts) => {
        const expected = new Set<string>();
        texts.forEach((_, index) => {
          const whole = texts.slice(0, index + 1).join('');
          for (const rule of foundIn([whole]).found.keys()) expected.add(rule);
        });
        expect(new Set(foundIn(texts).found.keys())).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });

  it('are at the same place behind each other as one text is', () => {
    fc.assert(
      fc.property(cutText, (texts) => {
        expect(foundIn(texts).carry).toEqual(foundIn([texts.join('')]).carry);
      }),
    );
  });

  it('are read the same way behind several places, however long they are', () => {
    const before = fc.constantFrom(
      '',
      KEY.slice(0, 20),
      base64(MARKER).slice(0, 20),
      'ab\n',
      '\u202eTO',
      '4539 1',
    );
    const filler = fc.constantFrom('', ' and so on'.repeat(200), 'QUJD'.repeat(400), 'ab\n'.repeat(800));
    fc.assert(
      fc.property(before, before, cutText, filler, (one, other, texts, long) => {
        const scanner = new Scanner(rules);
        const places = [one, other].map(
          (text) => scanner.scan(text, [NOTHING_READ]).carries[0] ?? NOTHING_READ,
        );
        const text = texts.join(long);
        const { carries, hits } = scanner.scan(text, places);
        const apart = places.map((place) => scanner.scan(text, [place]));
        expect(carries).toEqual(apart.map(({ carries: [carry] }) => carry));
        const named = (all: typeof hits) => all.map(({ rule }) => rule);
        expect(new Set(named(hits))).toEqual(new Set(apart.flatMap((each) => named([...each.hits]))));
      }),
      { numRuns: 200 },
    );
  });
});

describe('base64 in lines', () => {
  const MARKED = new Map([['default/test-marker', 'base64']]);

  it.each([
    [76, '\n'],
    [12, '\n'],
    [5, '\r\n'],
    [20, '\n      '],
  ])('of %d characters is read as one', (width, end) => {
    const text = inLines(base64(`please ${MARKER} now`), width, end);
    expect(foundIn([`${text}\n`]).found).toEqual(MARKED);
    expect(foundIn([...`see:\n${text}`]).found).toEqual(MARKED);
  });

  it('is read however many they are, and no line that is data', () => {
    const many = inLines(base64(`${'so '.repeat(4_000)}${MARKER}`), 76, '\n');
    expect(foundIn([many]).found).toEqual(MARKED);
    const data = base64(`${'so '.repeat(4_000)}${MARKER}`);
    expect(foundIn([data]).found).toEqual(new Map());
    expect(foundIn([`${data}\n${base64(MARKER)}`]).found).toEqual(MARKED);
  });
});

describe('very many texts', () => {
  const nested = base64(base64('so it is said '.repeat(60)));
  const shapes: Record<string, string> = {
    'one letter': 'a',
    'two letters': 'ab',
    'base64 without end': 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo',
    'base64 of base64': nested,
    'base64 in lines': `${inLines(base64('so it is said '.repeat(60)), 76, '\n')}\n`,
    'line breaks': '\n',
    digits: '4',
    'digits with blanks': '4 ',
    'digits with hyphens': '219-09-',
    'account numbers that are none': 'DE89 3704 ',
    'prefixes of keys': 'sk-',
    'keys that are none': `${KEY.slice(0, 30)}-`,
    'headers of keys': '-----BEGIN RSA PRIVATE KEY-----\n',
    'what cannot be seen': '\u200b\u200d',
    tags: '\u{e0061}',
    'overrides without end': '\u202eab',
    'overrides of overrides': '\u202eab\u202c',
    'combining characters': 'e\u0301\u0302\u0303',
    'what folds to many letters': '\ufdfa',
    'letters that ROT13 makes phrases of': 'vtaberceriv',
    'surrogate pairs': '\u{1f600}',
    separators: ' .,;',
    'the beginning of a phrase': 'ignoreallpreviousinstruction',
  };
  /** Characters that are looked at for each of so many texts of one unit each. */
  const costOf = (shape: string, count: number) => {
    const { scanner } = foundIn(
      shape
        .repeat(Math.ceil(count / shape.length))
        .slice(0, count)
        .split(''),
    );
    return (scanner.looks + scanner.steps) / count;
  };

  it.each(Object.entries(shapes))('of one unit each cost what is new: %s', (_name, shape) => {
    const few = costOf(shape, 1_500);
    expect(few).toBeLessThan(3_000);
    expect(costOf(shape, 6_000)).toBeLessThan(1.25 * few + 1);
  });

  it.each(Object.entries(shapes))('cost a bounded number of steps a character as one: %s', (_name, shape) => {
    const text = shape.repeat(Math.ceil(60_000 / shape.length));
    const { scanner, carry } = foundIn([text]);
    expect(scanner.looks + scanner.steps).toBeLessThan(40 * text.length);
    expect(carry.tail.length).toBeLessThanOrEqual(256);
  });
});
