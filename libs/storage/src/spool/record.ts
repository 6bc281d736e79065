import type { LogLine } from '@turnpike/append-log';
import type { NodeRows } from '../rows.js';
import type { IdBytes } from '../schema.js';

/** A response that waits for the database: the rows that it becomes there. */
export interface SavedRecord {
  readonly kind: 'save';
  readonly rows: NodeRows;
}

/** One that was deleted while it waited, or while it was being written. */
export interface DeletedRecord {
  readonly kind: 'delete';
  readonly tenant: string;
  readonly id: string;
}

export type SpoolRecord = SavedRecord | DeletedRecord;

/** Rows as JSON: token ids are Base64. */
export function bodyOf({ response, items, artifacts }: NodeRows): object {
  return {
    response,
    items: items.map((item) => ({ ...item, ids: item.ids === null ? null : textOf(item.ids) })),
    artifacts: artifacts.map((artifact) => ({ ...artifact, ids: textOf(artifact.ids) })),
  };
}

/** @returns undefined for a kind that a newer version writes */
export function recordOf({ kind, body }: LogLine): SpoolRecord | undefined {
  if (kind === 'delete') return { kind, ...(JSON.parse(body) as { tenant: string; id: string }) };
  if (kind !== 'save') return undefined;
  const { response, items, artifacts } = JSON.parse(body) as NodeRows;
  return {
    kind,
    rows: {
      response,
      items: items.map((item) => ({ ...item, ids: item.ids === null ? null : bytesOf(item.ids) })),
      artifacts: artifacts.map((artifact) => ({ ...artifact, ids: bytesOf(artifact.ids) })),
    },
  };
}

function textOf(ids: IdBytes): string {
  // Drivers return either; what is written here was never read from one.
  return Buffer.from(ids as Uint8Array).toString('base64');
}

function bytesOf(ids: unknown): Uint8Array {
  return Buffer.from(String(ids), 'base64');
}
