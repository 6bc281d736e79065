import {
  createNode,
  historyOf,
  type ChainNode,
  type ResponseNode,
  type ResponseStore,
} from '@turnpike/conversation';
import { harmony, TokenEncoder } from '@turnpike/formats';
import { ImageLoader, ImagesStage } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';
import { mintId, newResponse, parseItem, parseRequest } from '@turnpike/protocol';
import { Rendering, RenderingStage, type Rendered } from '@turnpike/rendering';
import { CatalogueRouter, Routing, RoutingStage } from '@turnpike/routing';
import { SqlResponseStore, type Codecs, type StoreSchema } from '@turnpike/storage';
import { Pipeline, TurnContext, type TurnItem } from '@turnpike/turns';
import { memoryMeter } from '../../apps/gateway/testing/metering.js';
import { ValidationStage } from '@turnpike/validation';
import type { Kysely } from 'kysely';
import { stageList } from '../../apps/gateway/src/stages.js';
import { testSafety } from '../../apps/gateway/testing/safety.js';

const FORMAT = harmony();
const encoder = new TokenEncoder(FORMAT.tokenizer);
const unused: EngineClient = {
  name: 'unused',
  capabilities: () => Promise.reject(new Error('not asked here')),
  generate: () => {
    throw new Error('no engine is called here');
  },
  close: () => Promise.resolve(),
};
const IMAGES = { tokens: 'tiles', base: 85, tile: 170, detail: true } as const;
const { admission, preparation } = stageList({
  validation: new ValidationStage(),
  routing: new RoutingStage(
    new CatalogueRouter([
      {
        model: 'm',
        engineModel: 'm',
        format: FORMAT,
        contextTokens: 1_000_000,
        engine: unused,
        images: IMAGES,
      },
    ]),
  ),
  images: new ImagesStage({ routeToken: Routing, loader: new ImageLoader({ maxBytes: 1_000_000 }) }),
  safety: testSafety().safety,
  rendering: new RenderingStage({ formatToken: Routing, encoder: () => encoder, today: () => '2026-01-31' }),
  hold: memoryMeter().hold,
});
const pipeline = new Pipeline(admission, preparation);

/** The codecs of the stages that the gateway runs. */
export const CODECS: Codecs = new Map(
  [...admission, ...preparation].flatMap(({ token, codec }) => (codec ? [[token.name, codec] as const] : [])),
);

export function storeOn(db: Kysely<StoreSchema>, options: { codecs?: Codecs; retentionMs?: number } = {}) {
  return new SqlResponseStore(db, { codecs: CODECS, retentionMs: 1_000_000, ...options });
}

/** The node as the store has it; fails the test when it has not. */
export async function loaded(store: ResponseStore, { tenant, id }: ResponseNode): Promise<ResponseNode> {
  const node = await store.load(tenant, id);
  if (node === undefined) throw new Error(`${id} is not in the store`);
  return node;
}

export interface Step {
  /** Items of the request as a client writes them. */
  readonly input?: readonly object[];
  /** Items of a model that the client sends back in front, with their ids sealed into them. */
  readonly brought?: readonly object[];
  /** What the model writes; each is taken as sampled. */
  readonly output?: readonly object[];
  readonly settings?: Record<string, unknown>;
  readonly tenant?: string;
}

export interface Made {
  readonly node: ResponseNode;
  /** Work of the input fold, by unit. */
  readonly work: Record<string, number>;
}

/** Runs one turn through the gateway's stages, without an engine, and makes its node. */
export async function makeTurn(parent: ResponseNode | undefined, step: Step): Promise<Made> {
  const { input = [], brought = [], output = [], settings = {}, tenant = 'tenant' } = step;
  const request = parseRequest({ model: 'm', generate: false, input, ...settings }, 'http');
  const id = mintId('response');
  const items = [
    ...brought.map((value): TurnItem => ({ ...sampled(value), brought: true })),
    ...request.input.map((item): TurnItem => ({ item })),
  ];
  const turn = new TurnContext({ id, tenant, request, items, history: () => historyOf(parent) });
  const prepared = await pipeline.run(turn, parent?.artifacts);
  const written = output.map((value) => sampled(value));
  const artifacts =
    written.length === 0 ? prepared : await pipeline.run(turn.next(written, 'output'), prepared);
  const response = { ...newResponse(id, request, 1), output: written.map(({ item }) => item) };
  const node = createNode({
    id,
    tenant,
    parent,
    input: items,
    output: written,
    response: response as ResponseNode['response'],
    artifacts,
    ownBytes: 100,
  });
  return { node, work: Object.fromEntries(turn.work) };
}

/** A chain of turns, root first. */
export async function makeChain(steps: readonly Step[], parent?: ResponseNode): Promise<ResponseNode[]> {
  const nodes: ResponseNode[] = [];
  for (const step of steps) nodes.push((await makeTurn(nodes.at(-1) ?? parent, step)).node);
  return nodes;
}

function sampled(value: object): TurnItem {
  const item = parseItem(value, 'output');
  if (item.type === 'compaction') {
    const expansion = { items: [parseItem(answer(item.encrypted_content), 'output')], replaces: true };
    return { item, expansion };
  }
  const ids = FORMAT.renderItem(item, { calls: new Map(), place: undefined }).pieces.flatMap((piece) =>
    typeof piece === 'number' ? [piece] : [...FORMAT.tokenizer.encode(piece)],
  );
  return { item, sampled: { format: FORMAT.name, ids: Int32Array.from(ids) } };
}

export const user = (content: string) => ({ role: 'user', content });
/** An image of one pixel. */
export const picture = {
  role: 'user',
  content: [
    {
      type: 'input_image',
      image_url: 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
      detail: 'low',
    },
  ],
};
export const answer = (content: string) => ({ role: 'assistant', content, phase: 'final_answer' });
export const thought = (text: string) => ({ type: 'reasoning', content: [{ type: 'reasoning_text', text }] });
export const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'look', arguments: '{}' });
export const compaction = (summary: string) => ({ type: 'compaction', encrypted_content: summary });
export const result = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'found' });

/** Everything that a next turn builds on, as plain data. How the chunks of a token log lie is its own affair. */
export function knowledge(node: ResponseNode): unknown {
  const { head, body, ...rest } = node.artifacts.get(Rendering.name) as Rendered;
  return {
    rendered: { ...rest, key: head.key, head: [...head.tokens.toIds()], body: [...body.toIds()] },
    validated: node.artifacts.get('validation'),
    images: node.artifacts.get('images'),
    history: historyOf(node),
    response: node.response,
    depth: node.depth,
    chainBytes: node.chainBytes,
    ids: idsOf(node),
  };
}

function idsOf(node: ChainNode): string[] {
  const ids: string[] = [];
  for (let at: ChainNode | undefined = node; at !== undefined; at = at.parent) ids.push(at.id);
  return ids;
}
