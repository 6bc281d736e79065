import type { ResponseAssembler } from '@turnpike/assembly';
import { createNode, estimateBytes, type ResponseNode, type ResponseStore } from '@turnpike/conversation';
import { imageBytes, Images, type KnownImages } from '@turnpike/images';
import { renderedBytes, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import type { Artifacts, Pipeline, TurnContext, TurnItem } from '@turnpike/turns';
import type { Beginning } from './beginning.js';
import { withItemIds } from './item-ids.js';
import type { TurnInput } from './turn-input.js';

export interface CommitInput {
  readonly turn: TurnContext;
  readonly beginning: Beginning;
  /** Ended. */
  readonly assembler: ResponseAssembler;
  /** As they are after the input. */
  readonly artifacts: Artifacts;
  readonly input: TurnInput;
  readonly pipeline: Pipeline;
  readonly store: ResponseStore;
}

/**
 * Folds the output in and makes the response known: to its connection, and to the store when it is to be stored.
 * @returns the response in the tree
 */
export async function commit({
  turn,
  beginning: { parent, input: ownInput },
  assembler,
  artifacts,
  input: { request, tenant, connection },
  pipeline,
  store,
}: CommitInput): Promise<ResponseNode> {
  const format = (artifacts.get(Routing.name) as Route).format.name;
  const output: TurnItem[] = assembler.items.map(({ item, ids }) => ({ item, sampled: { format, ids } }));
  const folded = output.length === 0 ? artifacts : await pipeline.run(turn.output(output), artifacts);
  // What the request set is in the response; what the model wrote is charged with its ids.
  const settings = { ...assembler.response, output: [] };
  const node = createNode({
    id: assembler.response.id,
    tenant,
    parent,
    input: withItemIds(ownInput),
    output,
    response: assembler.response,
    artifacts: folded,
    ownBytes: estimateBytes([settings, ...ownInput, ...output]) + promptBytes(parent, folded),
  });
  connection?.cache.add(node, connection.lane);
  if (request.store) await store.save(node);
  return node;
}

/** Memory of what this turn added to the prompt: ids, and images that were fetched. */
function promptBytes(parent: ResponseNode | undefined, artifacts: Artifacts): number {
  const rendered = artifacts.get(Rendering.name) as Rendered;
  const images = artifacts.get(Images.name) as KnownImages;
  const before = parent?.artifacts;
  return (
    renderedBytes(rendered, before?.get(Rendering.name) as Rendered | undefined) +
    imageBytes(images, before?.get(Images.name) as KnownImages | undefined)
  );
}
