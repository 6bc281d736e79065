import { apart, type ChainNode, type ResponseNode, type StoredResponse } from '@turnpike/conversation';
import { isOutputItem, jsonOf, parseStored, type Item, type ResponseObject } from '@turnpike/protocol';
import type { ArtifactCodec, Expansion, TurnItem } from '@turnpike/turns';
import { idsFromBytes, idsToBytes } from './ids.js';
import { ID } from './statements.js';
import type { ArtifactRow, ItemRow, ResponseRow } from './schema.js';

/** How the artifacts of stages are kept, by stage name; a stage that is not here is folded again from the items. */
export type Codecs = ReadonlyMap<string, ArtifactCodec<unknown>>;

/** The rows that one response becomes. */
export interface NodeRows {
  readonly response: ResponseRow;
  readonly items: readonly ItemRow[];
  readonly artifacts: readonly ArtifactRow[];
}

/**
 * @param codecs undefined for a response that cannot be continued from the store: nothing of its ancestors is written
 *   then, not even ids that cutting reasoning has copied, or what its summaries are of
 */
export function rowsOf(node: ResponseNode, retentionMs: number, codecs: Codecs | undefined): NodeRows {
  const now = Date.now();
  const output = codecs === undefined ? node.output.map(onItsOwn) : node.output;
  return {
    response: {
      id: node.id,
      tenant: node.tenant,
      parent_id: node.parent?.id ?? null,
      depth: node.depth,
      created_at: now,
      expires_at: now + retentionMs,
      own_bytes: node.ownBytes,
      body: JSON.stringify({ ...node.response, output: [] }),
    },
    items: [
      ...node.input.map((item, index) => itemRow(node.id, index, 0, item)),
      ...output.map((item, index) => itemRow(node.id, node.input.length + index, 1, item)),
    ],
    artifacts: codecs === undefined ? [] : artifactRows(node, codecs),
  };
}

function onItsOwn({ item, expansion: _of, ...sampled }: TurnItem): TurnItem {
  return { ...sampled, item: apart(item) };
}

function itemRow(response: string, position: number, isOutput: 0 | 1, entry: TurnItem): ItemRow {
  const { id } = entry.item;
  return {
    response_id: response,
    position,
    is_output: isOutput,
    // Clients name their items as they like; what cannot be looked up is not taken by every database either.
    item_id: id !== undefined && ID.test(id) ? id : null,
    ...contentOf(entry),
  };
}

/** Columns that hold an item with all that is known of it. */
export type ItemContent = Pick<ItemRow, 'body' | 'format' | 'ids' | 'expansion'>;

/** An item as columns, as {@link turnItemOf} reads them. */
export function contentOf({ item, sampled, expansion }: TurnItem): ItemContent {
  return {
    body: jsonOf(item),
    format: sampled?.format ?? null,
    ids: sampled === undefined ? null : idsToBytes(sampled.ids),
    expansion: expansion === undefined ? null : jsonOf(expansion),
  };
}

function artifactRows({ id, parent, artifacts }: ChainNode, codecs: Codecs): ArtifactRow[] {
  const rows: ArtifactRow[] = [];
  for (const [stage, codec] of codecs) {
    const artifact = artifacts.get(stage);
    if (artifact === undefined) continue;
    const previous = parent?.artifacts.get(stage);
    if (codec.empty !== undefined && artifact === (previous ?? codec.empty)) continue;
    const { state, ids } = codec.encode(artifact, previous);
    rows.push({
      response_id: id,
      stage,
      version: codec.version,
      complete: previous === undefined ? 1 : 0,
      state: JSON.stringify(state),
      ids: idsToBytes(ids),
    });
  }
  return rows;
}

export function turnItemOf({ body, format, ids, expansion }: ItemContent): TurnItem {
  return {
    item: parseStored(body) as Item,
    ...(format !== null && ids !== null && { sampled: { format, ids: idsFromBytes(ids) } }),
    ...(expansion !== null && { expansion: parseStored(expansion) as Expansion }),
  };
}

/**
 * A response as it is shown from the store, from its node.
 * @param continues whether it can be continued from the store; see {@link rowsOf}
 */
export function shownOf({ response, input, output }: ResponseNode, continues: boolean): StoredResponse {
  const items = (continues ? output : output.map(onItsOwn)).map(({ item }) => item);
  return {
    response: { ...response, output: items.filter(isOutputItem) },
    input: input.map(({ item }) => item),
  };
}

/** @param items what stands behind the input; outputs that a client gave while the response ran are among them */
export function responseOf(body: string, items: readonly Item[]): ResponseObject {
  const response = JSON.parse(body) as ResponseObject;
  return { ...response, output: items.filter(isOutputItem) };
}
