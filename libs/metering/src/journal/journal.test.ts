import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readLine, SegmentFile, segmentsIn } from '@turnpike/append-log';
import fc from 'fast-check';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_PRICES } from '../price-book.js';
import { admission, answer, settlement } from '../testing/settlement.js';
import { Journal, JournalFull } from './journal.js';
import { Journals, type JournalsOptions } from './journals.js';
import { lineOf } from './line.js';
import type { JournalFault, JournalReader } from './reader.js';

let root: string;
let open: Journals[] = [];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-journal-'));
});
afterEach(async () => {
  for (const journals of open) await journals.close().catch(() => undefined);
  open = [];
  rmSync(root, { recursive: true, force: true });
});

function journals(options: Partial<JournalsOptions> = {}): Journals {
  const made = new Journals({ root, prices: DEFAULT_PRICES, maxBytes: 1e9, ...options });
  open.push(made);
  return made;
}

/** Everything that is left to read, acknowledged. */
async function drain(reader: JournalReader, most = 100): Promise<{ ids: string[]; faults: JournalFault[] }> {
  const ids: string[] = [];
  const faults: JournalFault[] = [];
  for (;;) {
    const batch = await reader.next(most);
    ids.push(...batch.records.map(({ id }) => id));
    faults.push(...batch.faults);
    if (reader.isAtEnd(batch.end)) return { ids, faults };
    await reader.acknowledge(batch.end);
  }
}

const turn = (journal: Journal, id: string) => {
  journal.admit({ admission: admission(id), parts: answer(3, 0) });
  journal.progress({ id, parts: answer(3, 2) });
  journal.settle(settlement(id));
};

/** The journals as a process leaves them that was killed: nothing closed, locks gone with it. */
function abandon(left: Journals): void {
  const child = left as unknown as { own: Journal };
  rmSync(join(child.own.folder, 'lock'));
}

describe('a line', () => {
  it('is what was written, or nothing', () => {
    const line = lineOf({ kind: 'progress', id: 'r', parts: answer(1, 2) }, 7).toString();
    expect(readLine(line.trimEnd())).toMatchObject({ kind: 'progress', sequence: 7 });
    fc.assert(
      fc.property(fc.nat(line.length - 2), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const code = line.charCodeAt(at) ^ change;
        const damaged = line.slice(0, at) + String.fromCharCode(code) + line.slice(at + 1, -1);
        const same = damaged.toLowerCase() === line.slice(0, -1);
        expect(readLine(damaged) === undefined || same).toBe(true);
      }),
    );
  });
});

describe('a journal', () => {
  it('gives what was settled, in order, and again until it is acknowledged', async () => {
    const { own, readers } = journals();
    const [reader] = readers as [JournalReader];
    for (const id of ['a', 'b', 'c']) turn(own, id);
    const first = await reader.next(2);
    expect(first.records.map(({ id, settleSequence }) => [id, settleSequence])).toEqual([
      ['a', 3],
      ['b', 6],
    ]);
    expect((await reader.next(2)).records).toEqual(first.records);
    await reader.acknowledge(first.end);
    expect(await drain(reader)).toEqual({ ids: ['c'], faults: [] });
  });

  it('has written an admission when it returns', () => {
    const { own } = journals();
    own.admit({ admission: admission('a'), parts: answer(3, 0) });
    const [segment = ''] = segmentsIn(own.folder);
    expect(readFileSync(join(own.folder, segment), 'utf8')).toContain('admit 1 {"admission":{"id":"a"');
  });

  it('removes segments that are acknowledged, but not while a turn that began in one runs', async () => {
    const { own, readers } = journals({ segmentBytes: 1_000 });
    const [reader] = readers as [JournalReader];
    own.admit({ admission: admission('long'), parts: answer(3, 0) });
    for (let n = 0; n < 20; n++) turn(own, `r${n}`);
    const before = segmentsIn(own.folder);
    expect(before.length).toBeGreaterThan(5);
    expect((await drain(reader)).ids).toHaveLength(20);
    expect(segmentsIn(own.folder)[0]).toBe(before[0]);
    const bytes = own.bytes;
    own.settle(settlement('long'));
    turn(own, 'last');
    expect((await drain(reader)).ids).toEqual(['long', 'last']);
    expect(segmentsIn(own.folder).length).toBeLessThan(3);
    expect(own.bytes).toBeLessThan(bytes);
  });

  it('admits nothing at its bound, and settles what runs beyond it', async () => {
    const { own, readers } = journals({ maxBytes: 1_500, segmentBytes: 500 });
    const admitted: string[] = [];
    expect(() => {
      for (let n = 0; n < 100; n++) {
        own.admit({ admission: admission(`r${n}`), parts: answer(3, 0) });
        admitted.push(`r${n}`);
      }
    }).toThrow(JournalFull);
    expect(own.isFull).toBe(true);
    for (const id of admitted) own.settle(settlement(id));
    expect((await drain(readers[0] as JournalReader)).ids).toEqual(admitted);
    expect(own.isFull).toBe(false);
    turn(own, 'again');
  });

  it('that the disk takes nothing of admits nothing, and loses no settlement', async () => {
    const failures: boolean[] = [];
    const { own, readers } = journals({
      segmentBytes: 1,
      onFailure: (error) => failures.push(error !== undefined),
    });
    own.admit({ admission: admission('a'), parts: answer(3, 0) });
    own.admit({ admission: admission('b'), parts: answer(3, 0) });
    const away = join(root, 'away');
    renameSync(own.folder, away);
    own.settle(settlement('a'));
    expect(() => own.admit({ admission: admission('c'), parts: answer(3, 0) })).toThrow(JournalFull);
    expect(own.progress({ id: 'b', parts: answer(3, 2) })).toBe(false);
    own.settle(settlement('b'));
    expect([own.isFailing, own.isFull, own.openTurns]).toEqual([true, true, 2]);
    renameSync(away, own.folder);
    // It tries again by itself.
    while (own.isFull) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await drain(readers[0] as JournalReader)).ids).toEqual(['a', 'b']);
    turn(own, 'c');
    expect([failures, own.openTurns]).toEqual([[true, false], 0]);
  });

  it('that the disk does not keep what it took of admits nothing until it does, and is read all the same', async () => {
    const failures: boolean[] = [];
    let isFull = true;
    let tries = 0;
    const datasync = (_fd: number, done: (error: NodeJS.ErrnoException | null) => void) => {
      tries++;
      setImmediate(() =>
        done(isFull ? Object.assign(new Error('disk quota exceeded'), { code: 'EDQUOT' }) : null),
      );
    };
    const { own, readers } = journals({
      syncMs: 1,
      calls: { datasync: datasync as typeof fs.fdatasync },
      onFailure: (error) => failures.push(error !== undefined),
    });
    own.admit({ admission: admission('a'), parts: answer(3, 0) });
    await expect(own.sync()).rejects.toThrow('quota');
    expect(() => own.admit({ admission: admission('b'), parts: answer(3, 0) })).toThrow(JournalFull);
    own.settle(settlement('a'));
    // It is tried again, and said once.
    while (tries < 4) await new Promise((resolve) => setTimeout(resolve, 2));
    expect([own.isFull, own.isFailing, failures]).toEqual([true, true, [true]]);
    isFull = false;
    while (own.isFull) await new Promise((resolve) => setTimeout(resolve, 2));
    turn(own, 'b');
    expect([own.isFailing, failures]).toEqual([false, [true, false]]);
    expect((await drain(readers[0] as JournalReader)).ids).toEqual(['a', 'b']);
  });

  it('leaves nothing of a line that did not fit', () => {
    const full = (fd: number, line: NodeJS.ArrayBufferView, at?: number | null) => {
      if (at === 20) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const from = at ?? 0;
      return fs.writeSync(fd, line, from, Math.min(20, line.byteLength - from));
    };
    const segment = new SegmentFile(root, 'a', { write: full as typeof fs.writeSync });
    segment.append(Buffer.from('a short line\n'));
    expect(() => segment.append(Buffer.from('a line that is too long for it\n'))).toThrow('no space');
    segment.append(Buffer.from('another\n'));
    expect(readFileSync(join(root, 'a'), 'utf8')).toBe('a short line\nanother\n');
  });
});

describe('what a process left behind', () => {
  it('is taken over: what was settled comes, and what was not is settled from its last progress', async () => {
    const dead = journals();
    turn(dead.own, 'done');
    dead.own.admit({ admission: admission('early'), parts: answer(9, 0) });
    dead.own.admit({ admission: admission('late'), parts: answer(5, 0) });
    dead.own.progress({ id: 'late', parts: answer(5, 64) });
    dead.own.progress({ id: 'late', parts: answer(5, 128) });
    abandon(dead);
    const lost: string[] = [];
    const heir = journals({ onLost: (id) => lost.push(id) });
    await heir.adopt();
    expect(lost.sort()).toEqual(['early', 'late']);
    const reader = heir.readers[1] as JournalReader;
    const { records } = await reader.next(100);
    expect(
      records.map(({ id, partial, outcome, parts }) => [id, partial, outcome, parts[0]?.tokens.output]),
    ).toEqual([
      ['done', false, 'completed', 4],
      ['early', true, 'lost', 0],
      ['late', true, 'lost', 128],
    ]);
    expect(records[2]).toMatchObject({ journal: dead.own.name, progressRecords: 2, reason: 'gateway_lost' });
    await drain(reader);
    await heir.finished(reader);
    expect(heir.readers).toHaveLength(1);
    expect(readdirSync(root)).toEqual([heir.own.name]);
  });

  it('is settled the same way by whoever takes over from one that died at that', async () => {
    const dead = journals();
    dead.own.admit({ admission: admission('a'), parts: answer(9, 0) });
    abandon(dead);
    const second = journals();
    await second.adopt();
    abandon(dead);
    const third = journals();
    await third.adopt();
    const { ids } = await drain(third.readers[1] as JournalReader);
    expect(ids).toEqual(['a']);
  });

  it('may end in the middle of a line, at any byte', async () => {
    const whole = journals();
    for (const id of ['a', 'b', 'c']) turn(whole.own, id);
    const [name = ''] = segmentsIn(whole.own.folder);
    const text = readFileSync(join(whole.own.folder, name));
    await whole.close();
    const ends = [...text.keys()].filter((at) => at % 37 === 0 || text[at] === 10);
    for (const [index, end] of ends.entries()) {
      const folder = join(root, `2026010100${String(index).padStart(4, '0')}-00000000000a`);
      const torn = new Journal(root, folder.slice(root.length + 1), { maxBytes: 1e9 });
      await torn.close();
      writeFileSync(join(folder, name), text.subarray(0, end));
    }
    const heir = journals();
    await heir.adopt();
    for (const reader of heir.readers) {
      const { ids, faults } = await drain(reader);
      expect(['', 'a', 'a,b', 'a,b,c']).toContain(ids.join());
      expect(faults.every(({ kind }) => kind === 'torn')).toBe(true);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });

  it('says when lines are damaged or missing', async () => {
    const { own, readers } = journals();
    for (const id of ['a', 'b', 'c']) turn(own, id);
    const [name = ''] = segmentsIn(own.folder);
    const path = join(own.folder, name);
    const lines = readFileSync(path, 'utf8').split('\n');
    lines[1] = lines[1]?.replace('progress', 'progrezz') ?? '';
    lines.splice(6, 1);
    writeFileSync(path, lines.join('\n'));
    const { ids, faults } = await drain(readers[0] as JournalReader);
    expect(ids).toEqual(['a', 'b', 'c']);
    expect(faults.map(({ kind }) => kind)).toEqual(['damaged', 'gap', 'gap']);
  });

  it('is not touched while its process lives, and free the moment it is killed', async () => {
    const holder = `
      const L = require(${JSON.stringify(createRequire(import.meta.url).resolve('libsql'))});
      const db = new L(process.argv[1]); db.exec('begin exclusive'); console.log('held'); setInterval(() => {}, 1000);`;
    const dead = new Journal(root, '20260101000000-00000000000b', { maxBytes: 1e9 });
    turn(dead, 'a');
    await dead.close();
    const child = spawn(process.execPath, ['-e', holder, join(dead.folder, 'lock')]);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const heir = journals();
    await heir.adopt();
    expect(heir.readers).toHaveLength(1);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    await heir.adopt();
    expect((await drain(heir.readers[1] as JournalReader)).ids).toEqual(['a']);
  });

  it('is nobody else’s: other folders stay as they are', async () => {
    const other = join(root, 'backup');
    const heir = journals();
    new Journal(root, 'backup', { maxBytes: 1e9 });
    appendFileSync(join(other, 'x'), 'x');
    truncateSync(join(other, 'x'), 0);
    await heir.adopt();
    expect(readdirSync(root)).toContain('backup');
    expect(heir.readers).toHaveLength(1);
  });
});
