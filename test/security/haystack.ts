import type { Opened } from '@turnpike/sealing';
import type { StoreSchema } from '@turnpike/storage';
import { sql, type Kysely } from 'kysely';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Markers, Needle } from './markers.js';

/** Bytes that something may be found in. */
export interface Straw {
  readonly name: string;
  readonly bytes: Buffer;
}

/** Where a marker was found. */
export interface Find {
  readonly name: string;
  readonly form: string;
  /** The places of the markers, where they can be read; else what stands around the first. */
  readonly what: string;
}

/** Every find of a marker in these bytes, one for each form. */
export function find(markers: Markers, straws: readonly Straw[]): Find[] {
  const needles = markers.needles();
  return straws.flatMap(({ name, bytes }) =>
    needles.flatMap(({ form, bytes: needle }) => {
      const at = bytes.indexOf(needle);
      if (at === -1) return [];
      const places = form === 'UTF-8' ? [...new Set(markers.placesIn(bytes.toString('latin1')))] : [];
      const around = bytes.toString('latin1', Math.max(0, at - 80), at + 160);
      return [{ name, form, what: places.length === 0 ? around : places.join(' ') }];
    }),
  );
}

/** Whether any of these bytes hold the needle. */
export function holds(straws: readonly Straw[], { bytes: needle }: Needle): boolean {
  return straws.some(({ bytes }) => bytes.includes(needle));
}

/** What the sealed texts among these bytes say, to one who has the key. */
export function opened(straws: readonly Straw[], open: (text: string) => Opened): Straw[] {
  return straws.flatMap(({ name, bytes }) =>
    [...bytes.toString('latin1').matchAll(/tp1\.[\w-]+/g)].flatMap(([text]) => {
      const result = open(text);
      return result.kind === 'opened' ? [{ name: `sealed in ${name}`, bytes: result.bytes }] : [];
    }),
  );
}

/** Every file below a folder. */
export function filesBelow(folder: string): Straw[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((name) => ({ name, bytes: readFileSync(name) }));
}

/**
 * Files, deleted ones too, that a process has open and may write to. Linux only; none elsewhere.
 * @returns their paths
 */
export function writableFilesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((fd) => {
    try {
      const path = readlinkSync(join(folder, fd));
      const flags = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'))?.[1] ?? '0';
      const isWritable = (parseInt(flags, 8) & 3) !== 0;
      return isWritable && path.startsWith('/') && !path.startsWith('/dev/') ? [path] : [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

/** Every value of every table, each table on its own. In files a text may be cut in two by the end of a page. */
export async function tablesOf(db: Kysely<StoreSchema>): Promise<Straw[]> {
  const straws: Straw[] = [];
  for (const { name } of await db.introspection.getTables()) {
    const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(db);
    straws.push({ name: `table ${name}`, bytes: bytesOf(rows) });
  }
  return straws;
}

function bytesOf(rows: readonly object[]): Buffer {
  const values = rows.flatMap((row) => Object.values(row) as unknown[]);
  return Buffer.concat(
    values.flatMap((value) => [
      value instanceof Uint8Array || value instanceof ArrayBuffer
        ? Buffer.from(value as Uint8Array)
        : Buffer.from(String(value)),
      Buffer.from('\n'),
    ]),
  );
}
