import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { segmentsIn } from '@turnpike/append-log';
import fc from 'fast-check';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_PRICES } from '../price-book.js';
import { admission, answer, settlement } from '../testing/settlement.js';
import type { UsageRecord } from '../usage-record.js';
import { Journal } from './journal.js';
import { Journals } from './journals.js';
import type { JournalFault } from './reader.js';

/** Names as gateways give them, so that the folders are taken for journals. */
const LEFT = '20260101000000-00000000000a';
const OTHER = '20260101000001-00000000000b';

let root: string;
let open: Journals[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-journal-'));
});
afterEach(async () => {
  for (const journals of open) await journals.close();
  open = [];
  rmSync(root, { recursive: true, force: true });
});

/** What a gateway leaves that was killed with turns `a` to `c` settled and `d` under way; twelve records. */
async function leave(name = LEFT, segmentBytes = 1e9): Promise<string> {
  const journal = new Journal(root, name, { maxBytes: 1e9, segmentBytes });
  for (const id of ['a', 'b', 'c']) {
    journal.admit({ admission: admission(id), parts: answer(3, 0) });
    journal.progress({ id, parts: answer(3, 2) });
    journal.settle(settlement(id));
  }
  journal.admit({ admission: admission('d'), parts: answer(5, 0) });
  journal.progress({ id: 'd', parts: answer(5, 64) });
  journal.progress({ id: 'd', parts: answer(5, 128) });
  await journal.close();
  return journal.folder;
}

function heirOf(place: string): Journals {
  const heir = new Journals({ root: place, prices: DEFAULT_PRICES, maxBytes: 1e9 });
  open.push(heir);
  return heir;
}

/** Takes over everything that was left, to its end, as the relay does. */
async function takeOver(
  heir = heirOf(root),
): Promise<{ records: UsageRecord[]; faults: JournalFault[]; heir: Journals }> {
  const records: UsageRecord[] = [];
  const faults: JournalFault[] = [];
  await heir.adopt();
  for (const reader of heir.readers) {
    for (;;) {
      const batch = await reader.next(2);
      records.push(...batch.records);
      faults.push(...batch.faults);
      if (reader.isAtEnd(batch.end)) break;
      await reader.acknowledge(batch.end);
    }
    await heir.finished(reader);
  }
  return { records, faults, heir };
}

const kindsOf = (faults: readonly JournalFault[]) => faults.map(({ kind }) => kind);
const outputsOf = (records: readonly UsageRecord[]) =>
  records.map(({ id, outcome, parts }) => [id, outcome, parts[0]?.tokens.output]);
const ALL = [
  ['a', 'completed', 4],
  ['b', 'completed', 4],
  ['c', 'completed', 4],
  ['d', 'lost', 128],
];

describe('a damaged segment', () => {
  it('costs what is in its lines that were hit, and nothing before or behind them, at any byte', async () => {
    const folder = await leave();
    const [segment = ''] = segmentsIn(folder);
    const whole = readFileSync(join(folder, segment));
    // Of each byte, the line that it is in.
    const lines = whole.toString().split('\n').slice(0, -1);
    const owners = lines.flatMap((line, index) => Array.from({ length: line.length + 1 }, () => index));
    const turnsOf = (gone: ReadonlySet<number>) =>
      ['a', 'b', 'c', 'd'].filter((id, index) => {
        const [admit, settle] = [index * 3, id === 'd' ? undefined : index * 3 + 2];
        return !gone.has(admit) || (settle !== undefined && !gone.has(settle));
      });
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const place = mkdtempSync(join(root, 'run-'));
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] ?? 0) ^ change;
        mkdirSync(join(place, LEFT));
        writeFileSync(join(place, LEFT, segment), damaged);
        const line = owners[at] ?? 0;
        // Two lines are one where what parted them is gone.
        const gone = new Set(whole[at] === 10 ? [line, line + 1] : [line]);
        const { records, faults } = await takeOver(heirOf(place));
        expect(records.map(({ id }) => id).sort()).toEqual(turnsOf(gone));
        const [first] = faults;
        expect(first).toMatchObject({ segment });
        const isEnd = line === lines.length - 1 && whole[at] === 10;
        expect(first?.kind).toBe(isEnd ? 'torn' : 'damaged');
        expect(faults.every(({ kind }) => ['torn', 'damaged', 'gap'].includes(kind))).toBe(true);
        expect(readdirSync(place)).not.toContain(LEFT);
      }),
      { numRuns: 60 },
    );
  });

  it('is told by its name, where in it, and which records are missing', async () => {
    const folder = await leave();
    const [segment = ''] = segmentsIn(folder);
    const path = join(folder, segment);
    const lines = readFileSync(path, 'utf8').split('\n');
    const offset = lines.slice(0, 5).join('\n').length + 1;
    // The bill of `b`: it is settled from its progress then.
    lines[5] = lines[5]?.replace('"completed"', '"conpleted"') ?? '';
    lines.splice(7, 2);
    writeFileSync(path, lines.join('\n'));
    const { records, faults } = await takeOver();
    expect(faults).toEqual([
      { kind: 'damaged', segment, offset, detail: `a line of ${lines[5].length} bytes` },
      { kind: 'gap', segment, offset: expect.any(Number), detail: 'record 6 is missing' },
      { kind: 'gap', segment, offset: expect.any(Number), detail: 'records 8 to 9 are missing' },
    ]);
    expect(outputsOf(records)).toEqual([
      ['a', 'completed', 4],
      ['b', 'lost', 2],
      ['c', 'lost', 0],
      ['d', 'lost', 128],
    ]);
  });
});

describe('the last segment of a gateway that died as it began it', () => {
  it.each<[string, (next: string) => string, string[]]>([
    ['is empty', () => '', []],
    ['was cut off in its first line', (next) => next.slice(0, 40), ['torn', 'gap']],
    ['has one damaged line', (next) => next.replace('progress', 'progrezz'), ['damaged', 'gap']],
  ])('%s', async (_, write, kinds) => {
    const folder = await leave(LEFT, 1);
    // One record a segment: the last is the second progress of `d`.
    const last = segmentsIn(folder).at(-1) ?? '';
    writeFileSync(join(folder, last), write(readFileSync(join(folder, last), 'utf8')));
    const { records, faults, heir } = await takeOver();
    expect(outputsOf(records)).toEqual([...ALL.slice(0, 3), ['d', 'lost', 64]]);
    expect(kindsOf(faults)).toEqual(kinds);
    expect(heir.readers).toHaveLength(1);
    expect(readdirSync(root)).toEqual([heir.own.name]);
  });

  it('holds nothing else either', async () => {
    mkdirSync(join(root, LEFT));
    writeFileSync(join(root, LEFT, '0000000000000001.journal'), '');
    const { records, faults, heir } = await takeOver();
    expect([records, faults]).toEqual([[], []]);
    expect(readdirSync(root)).toEqual([heir.own.name]);
  });
});

describe('a checkpoint', () => {
  it.each<[string, (checkpoint: string) => string]>([
    ['that is empty', () => ''],
    ['that is JSON of something else', () => '{}'],
    ['that points behind the end', (text) => text.replace(/"offset":\d+/, '"offset":999999')],
    ['of a segment that is none', (text) => text.replace('0000000000000001', '9000000000000000')],
    ['that was cut off', (text) => text.slice(0, 50)],
  ])('%s loses nothing: everything comes once more', async (_, damage) => {
    const folder = await leave();
    const first = heirOf(root);
    await first.adopt();
    const reader = first.readers[1];
    const { end } = (await reader?.next(2)) ?? {};
    if (end !== undefined) await reader?.acknowledge(end);
    await first.close();
    open = [];
    const path = join(folder, 'checkpoint');
    writeFileSync(path, damage(readFileSync(path, 'utf8')));
    const { records, faults } = await takeOver();
    expect(outputsOf(records)).toEqual(ALL);
    expect(faults).toEqual([]);
  });

  it('as it was written is where it goes on', async () => {
    await leave();
    const first = heirOf(root);
    await first.adopt();
    const reader = first.readers[1];
    const { end } = (await reader?.next(2)) ?? {};
    if (end !== undefined) await reader?.acknowledge(end);
    await first.close();
    open = [];
    expect(outputsOf((await takeOver()).records)).toEqual(ALL.slice(2));
  });
});

describe('the folder of the journals', () => {
  it('may hold files of others, which stay where they are', async () => {
    const folder = await leave();
    writeFileSync(join(root, 'notes.txt'), 'x');
    writeFileSync(join(root, OTHER), 'a file with the name of a journal');
    mkdirSync(join(root, 'lost+found'));
    writeFileSync(join(folder, '.nfs0001'), 'x');
    writeFileSync(join(folder, '0000000000000001.journal~'), 'x');
    const { records, faults, heir } = await takeOver();
    expect(outputsOf(records)).toEqual(ALL);
    expect(faults).toEqual([]);
    expect(readdirSync(root).sort()).toEqual([OTHER, heir.own.name, 'lost+found', 'notes.txt'].sort());
  });

  it('may hold a journal that cannot be taken over: the others are, and it is named', async () => {
    const stuck = await leave(LEFT);
    await leave(OTHER);
    mkdirSync(join(stuck, 'lock'));
    const heir = heirOf(root);
    await expect(heir.adopt()).rejects.toThrow(`cannot be taken over: ${LEFT}: `);
    expect(heir.readers.map(({ name }) => name)).toEqual([heir.own.name, OTHER]);
    rmSync(join(stuck, 'lock'), { recursive: true });
    await heir.adopt();
    expect(heir.readers.map(({ name }) => name)).toEqual([heir.own.name, OTHER, LEFT]);
  });
});
