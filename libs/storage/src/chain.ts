import { createNode, type ChainNode, type ResponseNode } from '@turnpike/conversation';
import { sql, type Kysely } from 'kysely';
import type { ArtifactRecord, Artifacts, TurnItem } from '@turnpike/turns';
import { idsFromBytes } from './ids.js';
import { responseOf, turnItemOf, type Codecs } from './rows.js';
import type { IdBytes, StoreSchema } from './schema.js';

/** A row of the one statement that reads a chain. What `name`, `number` and `flag` mean depends on its kind. */
interface ChainRow {
  readonly kind: 'node' | 'item' | 'artifact';
  readonly depth: number;
  /** Id of the node; format of the item; stage of the artifact. */
  readonly name: string | null;
  /** Own bytes; position; version. */
  readonly number: number;
  /** Nothing; whether it is output; whether it is complete. */
  readonly flag: number;
  readonly body: string | null;
  readonly ids: IdBytes | null;
  /** Of the item. */
  readonly expansion: string | null;
}

/** What one response of a chain added to it, as it was read. */
interface Link {
  id: string;
  ownBytes: number;
  body: string | null;
  readonly input: TurnItem[];
  readonly output: TurnItem[];
  readonly artifacts: Map<string, StageRecord>;
}

interface StageRecord {
  readonly version: number;
  readonly complete: boolean;
  readonly record: ArtifactRecord;
}

/**
 * The response with everything before it, in one statement however long the chain is; undefined when the tenant has no
 * such response, or when an ancestor was never stored.
 *
 * The database follows `parent_id` itself. A step goes to a smaller depth, so it ends, and forks need no bookkeeping.
 * SQLite joins in the order written where that says `cross join`; it would go through all items there are otherwise.
 */
export async function readChain(
  db: Kysely<StoreSchema>,
  tenant: string,
  id: string,
  codecs: Codecs,
): Promise<ResponseNode | undefined> {
  const { rows } = await sql<ChainRow>`
    with recursive chain (id, parent_id, depth, own_bytes) as (
      select id, parent_id, depth, own_bytes from responses
        where id = ${id} and tenant = ${tenant} and expires_at > ${Date.now()}
      union all
      select r.id, r.parent_id, r.depth, r.own_bytes from chain c
        join responses r on r.id = c.parent_id and r.tenant = ${tenant} and r.depth = c.depth - 1
    )
    select 'item' as kind, c.depth as depth, i.format as name, i.position as number, i.is_output as flag,
        i.body as body, i.ids as ids, i.expansion as expansion
      from chain c cross join items i where i.response_id = c.id
    union all
    select 'artifact', c.depth, a.stage, a.version, a.complete, a.state, a.ids, null
      from chain c cross join artifacts a where a.response_id = c.id
    union all
    select 'node', c.depth, c.id, c.own_bytes, 0, r.body, null, null
      from chain c left join responses r on r.id = c.id and r.id = ${id}`.execute(db);
  const links = linksOf(rows);
  return links && nodeOf(tenant, links, codecs);
}

/** The links from the root to the response; undefined when one is missing. */
function linksOf(rows: readonly ChainRow[]): Link[] | undefined {
  const links: Link[] = [];
  const at = (depth: number) =>
    (links[depth] ??= { id: '', ownBytes: 0, body: null, input: [], output: [], artifacts: new Map() });
  const count = rows.reduce((nodes, { kind }) => nodes + (kind === 'node' ? 1 : 0), 0);
  for (const row of rows) {
    if (row.depth >= count) return undefined;
    read(row, at(row.depth));
  }
  return count === 0 ? undefined : links;
}

function read({ kind, name, number, flag, body, ids, expansion }: ChainRow, link: Link): void {
  switch (kind) {
    case 'node':
      link.id = name ?? '';
      link.ownBytes = number;
      link.body = body;
      return;
    case 'item': {
      const item = turnItemOf({ body: body ?? '', format: name, ids, expansion });
      // Rows come in no order; input positions begin at 0, output positions behind the last input.
      if (flag === 1) link.output[number] = item;
      // Ids in an input came sealed, beside a text that is the client's word.
      else link.input[number] = item.sampled === undefined ? item : { ...item, brought: true };
      return;
    }
    case 'artifact': {
      const record = { state: JSON.parse(body ?? '') as unknown, ids: idsFromBytes(ids ?? new Uint8Array()) };
      link.artifacts.set(name ?? '', { version: number, complete: flag === 1, record });
    }
  }
}

function nodeOf(tenant: string, links: readonly Link[], codecs: Codecs): ResponseNode | undefined {
  let parent: ChainNode | undefined;
  for (const [depth, { id, ownBytes, body, input, output }] of links.entries()) {
    // Output positions leave a gap in front, which flat() takes out.
    const fields = { id, tenant, parent, ownBytes, input, output: output.flat() };
    if (depth < links.length - 1) parent = createNode({ ...fields, artifacts: new Map() });
    else if (body !== null) {
      const items = fields.output.map(({ item }) => item);
      return createNode({
        ...fields,
        response: responseOf(body, items),
        artifacts: artifactsOf(links, codecs),
      });
    }
  }
  return undefined;
}

/** What stages knew after the last link. One is left out when its records do not reach back to one that says everything. */
function artifactsOf(links: readonly Link[], codecs: Codecs): Artifacts {
  const artifacts = new Map<string, unknown>();
  const history = () => links.flatMap(({ input, output }) => [...input, ...output.flat()]);
  for (const [stage, codec] of codecs) {
    const { empty } = codec;
    // Undefined until a record says everything; where there can be nothing to say, that is the beginning.
    let records: ArtifactRecord[] | undefined = empty === undefined ? undefined : [];
    for (const link of links) {
      const row = link.artifacts.get(stage);
      if (row === undefined && empty !== undefined) continue;
      if (row === undefined || row.version !== codec.version) records = undefined;
      else if (row.complete) records = [row.record];
      else records?.push(row.record);
    }
    if (records === undefined) continue;
    artifacts.set(stage, records.length === 0 ? empty : codec.decode(records, history));
  }
  return artifacts;
}
