import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SseReader } from './sse-reader.js';

const LINE_ENDS = { LF: '\n', CR: '\r', CRLF: '\r\n' };

/** What one reader makes of these chunks. */
function eventsOf(chunks: readonly Buffer[]): string[] {
  const reader = new SseReader();
  return chunks.flatMap((chunk) => reader.push(chunk));
}

function cutAt(bytes: Buffer, ...places: number[]): Buffer[] {
  const bounds = [0, ...places.sort((a, b) => a - b), bytes.length];
  return bounds.slice(1).map((to, index) => bytes.subarray(bounds[index], to));
}

const STREAM =
  'data: {"index":\ndata: 0}\n\ndata:{"x":"é😀"}\n\n: ping\n\nevent: message\nid: 7\ndata: [DONE]\n\n';
const EVENTS = ['{"index":\n0}', '{"x":"é😀"}', '[DONE]'];

describe.each(Object.entries(LINE_ENDS))('D03: a stream with %s', (_, end) => {
  const bytes = Buffer.from(STREAM.replaceAll('\n', end));

  it('gives the same events whole, byte by byte, and cut at any one place', () => {
    expect(eventsOf([bytes])).toEqual(EVENTS);
    expect(eventsOf([...bytes].map((byte) => Buffer.of(byte)))).toEqual(EVENTS);
    for (let place = 0; place <= bytes.length; place++) expect(eventsOf(cutAt(bytes, place))).toEqual(EVENTS);
  });

  it('gives the same events cut at every two places, with a byte order mark in front or without', () => {
    const marked = Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), bytes]);
    const wanted = JSON.stringify(EVENTS);
    const wrong: number[][] = [];
    for (const stream of [bytes, marked]) {
      for (let one = 0; one <= stream.length; one++) {
        for (let other = one; other <= stream.length; other++) {
          if (JSON.stringify(eventsOf(cutAt(stream, one, other))) !== wanted) wrong.push([one, other]);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('gives an event that has no blank line behind it at the end, as it may be cut short', () => {
    for (const behind of [`data: b${end}`, 'data: b']) {
      const reader = new SseReader();
      expect(reader.push(Buffer.from(`data: a${end}${end}${behind}`))).toEqual(['a']);
      expect(reader.end()).toEqual(['b']);
      expect(reader.end()).toEqual([]);
    }
  });
});

describe('fields', () => {
  it.each<[string, string, string[]]>([
    ['data without a space', 'data:a\n\n', ['a']],
    ['data with two spaces, of which one belongs to it', 'data:  a\n\n', [' a']],
    ['a colon in the data', 'data: a: b\n\n', ['a: b']],
    ['data without a colon', 'data\n\n', ['']],
    ['data that is empty', 'data:\n\n', ['']],
    ['several data lines', 'data: a\ndata:\ndata: b\n\n', ['a\n\nb']],
    ['a comment', ': data: a\n\n', []],
    ['a comment between', 'data: a\n: ping\ndata: b\n\n', ['a\nb']],
    ['other fields', 'event: x\nid: 1\nretry: 5\nDATA: a\ndatax: b\n data: c\n\n', []],
    ['blank lines', '\n\n\ndata: a\n\n\n\n', ['a']],
    ['mixed line ends', 'data: a\r\rdata: b\n\r\ndata: c\r\n\n', ['a', 'b', 'c']],
    ['a byte order mark that is not at the start', 'data: a\n\n\ufeffdata: b\n\n', ['a']],
    ['an error', 'error: {"code":500,"message":"m"}\n\n', ['{"error":{"code":500,"message":"m"}}']],
    [
      'objects without a blank line between',
      'data: {"a":1} \ndata: {"b":\ndata: {}}\n\n',
      ['{"a":1} ', '{"b":\n{}}'],
    ],
    ['the end without one before it', 'data: {}\ndata: [DONE]\n\n', ['{}', '[DONE]']],
    ['nothing', '', []],
  ])('%s', (_, stream, events) => {
    expect(eventsOf([Buffer.from(stream)])).toEqual(events);
  });

  it('any texts come out as they went in, however they are cut', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' ', ':', '{', 'data:') });
    const event = fc.array(line, { minLength: 1, maxLength: 3 });
    const end = fc.constantFrom(...Object.values(LINE_ENDS));
    fc.assert(
      fc.property(fc.array(event), end, fc.array(fc.nat(), { maxLength: 5 }), (events, newline, places) => {
        const lines = events.flatMap((texts) => [...texts.map((text) => `data: ${text}`), '']);
        const bytes = Buffer.from(lines.map((text) => text + newline).join(''));
        const chunks = cutAt(bytes, ...places.map((place) => place % (bytes.length + 1)));
        expect(eventsOf(chunks)).toEqual(events.map((texts) => texts.join('\n')));
      }),
    );
  });
});

describe('bounds', () => {
  const MIB = Buffer.alloc(1024 * 1024, 'x');

  /** Mebibytes taken before the reader gave up. */
  function taken(chunk: (index: number) => Buffer): number {
    const reader = new SseReader();
    for (let index = 0; index < 100; index++) {
      try {
        reader.push(chunk(index));
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(RangeError);
        return index;
      }
    }
    return Infinity;
  }

  it('refuses a line without end', () => {
    expect(taken((index) => (index === 0 ? Buffer.from('data: ') : MIB))).toBe(64);
  });

  it('refuses an event of lines without end', () => {
    const line = Buffer.concat([Buffer.from('data:'), MIB, Buffer.from('\n')]);
    expect(taken(() => line)).toBe(63);
  });

  it('takes any number of events', () => {
    const event = Buffer.concat([Buffer.from('data:'), MIB, Buffer.from('\n\n')]);
    expect(taken(() => event)).toBe(Infinity);
  });
});
