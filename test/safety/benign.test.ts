import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fold } from '../../libs/safety/src/fold.js';
import { NOTHING_READ } from '../../libs/safety/src/scanner.js';
import { readRulePack, RuleSet, Scanner } from '@turnpike/safety';
import { MARKER } from './marker.js';

/** Texts that nobody should have trouble with: the default rules block nothing of them. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CORPUS = fileURLToPath(new URL('./corpus/', import.meta.url));
const rules = new RuleSet([readRulePack('default')]);

interface Found {
  readonly file: string;
  readonly rule: string;
  readonly blocks: boolean;
}

function lookThrough(files: readonly { file: string; text: string }[]): {
  characters: number;
  found: Found[];
} {
  const scanner = new Scanner(rules);
  let carries = [NOTHING_READ, NOTHING_READ];
  let characters = 0;
  const found = files.flatMap(({ file, text }) => {
    characters += text.length;
    const scanned = scanner.scan(text, carries);
    carries = [...scanned.carries];
    return scanned.hits.map(({ rule }): Found => {
      const { id = '', actions } = rules.rules[rule] ?? {};
      return { file, rule: id, blocks: actions?.user === 'block' };
    });
  });
  return { characters, found };
}

describe('the default rules', () => {
  it('report nothing in code, logs and Korean, and of talk about attacks only what it quotes', () => {
    const files = readdirSync(CORPUS).map((file) => ({ file, text: readFileSync(CORPUS + file, 'utf8') }));
    const { characters, found } = lookThrough(files);
    process.stdout.write(
      `benign corpus: ${characters} characters, ${found.length} flagged, 0 may be blocked\n`,
    );
    expect(characters).toBeGreaterThan(150_000);
    expect(found).toEqual([{ file: 'security.md', rule: 'default/injection', blocks: false }]);
  });

  it('block nothing in the sources and documents of this project', () => {
    const names = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const files = names
      .split('\n')
      .filter((file) => /\.(ts|mjs|md|ya?ml|json|txt)$/.test(file) && !file.includes('package-lock'))
      // What is about the marker spells it.
      .map((file) => ({ file, text: readFileSync(ROOT + file, 'utf8').replaceAll(MARKER, '') }));
    const { characters, found } = lookThrough(files);
    process.stdout.write(`this project: ${characters} characters, ${found.length} flagged\n`);
    expect(characters).toBeGreaterThan(1_000_000);
    expect(found.filter(({ blocks }) => blocks)).toEqual([]);
    // What is about such phrases quotes them.
    const flagged = found.filter(({ file }) => !/safety|phrases-are-flagged/.test(file));
    expect(flagged).toEqual([]);
  });

  it('block nothing in what others have written: documents and types of the packages that this project uses', () => {
    const folder = `${ROOT}node_modules/`;
    const names = readdirSync(folder).flatMap((name) => {
      const inside = name.startsWith('@')
        ? readdirSync(folder + name).map((each) => `${name}/${each}`)
        : [name];
      return inside.flatMap((each) => {
        try {
          return readdirSync(folder + each)
            .filter((file) => /^(README|CHANGELOG).*\.md$|\.d\.ts$/i.test(file))
            .map((file) => `${each}/${file}`);
        } catch {
          return [];
        }
      });
    });
    const files = names.map((file) => ({ file, text: readFileSync(folder + file, 'utf8') }));
    const { characters, found } = lookThrough(files);
    process.stdout.write(
      `packages: ${characters} characters in ${files.length} files, ${found.length} flagged\n`,
    );
    expect(found.filter(({ blocks }) => blocks)).toEqual([]);
    expect(found.length).toBeLessThan(characters / 200_000);
  });

  it('would block the marker in each of them', () => {
    expect(fold(MARKER)).toHaveLength(23);
    expect(lookThrough([{ file: 'x', text: `so ${MARKER}` }]).found).toEqual([
      { file: 'x', rule: 'default/test-marker', blocks: true },
    ]);
  });
});
