import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { MARKERS, parseScript, readMarkers } from './markers.js';

describe('markers', () => {
  it('reads keys and values of every kind', () => {
    expect(
      parseScript('calls=3 tool=get_weather call-form=channel emoji=1 commentary=0 broken=stray status=503'),
    ).toEqual({
      script: {
        calls: 3,
        tool: 'get_weather',
        form: 'channel',
        emoji: true,
        commentary: false,
        broken: 'stray',
        status: 503,
      },
      complaints: [],
    });
  });

  it('finds markers in a message and takes them out of it', () => {
    expect(readMarkers('Hello [sim calls=2] there [sim tokens=9 calls=4]')).toEqual({
      text: 'Hello  there',
      script: { calls: 4, tokens: 9 },
      complaints: [],
    });
    expect(readMarkers('a [simple] text').script).toEqual({});
  });

  it('complains of what it does not know', () => {
    expect(parseScript('call=2').complaints).toEqual(['unknown sim key: call']);
    expect(parseScript('calls=two status=200').complaints).toEqual([
      'sim key calls wants N, not "two"',
      'sim key status wants 400..599, not "200"',
    ]);
  });

  it('is documented: the README has a row for each', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const documented = [...readme.matchAll(/^\| `([a-z-]+=.+?)` +\|/gm)].map((row) =>
      row[1]?.replaceAll('\\|', '|'),
    );
    expect(documented).toEqual(MARKERS.map(({ key, value }) => `${key}=${value}`));
  });
});
