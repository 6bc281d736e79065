import type { ResponseAssembler } from '@turnpike/assembly';
import { createNode, estimateBytes, type ResponseNode, type ResponseStore } from '@turnpike/conversation';
import { renderedBytes, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import type { Artifacts, Pipeline, TurnContext, TurnItem } from '@turnpike/turns';
import { log, shown } from '../log.js';
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
  readonly store: Pick<ResponseStore, 'save'>;
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

/**
 * Stores a response that nothing can follow, for those who ask what became of it. Its client is told how it ended all the
 * same when that cannot be stored.
 */
export async function keep({
  assembler: { response, items },
  beginning,
  input: { tenant },
  store,
}: Pick<CommitInput, 'assembler' | 'beginning' | 'input' | 'store'>): Promise<void> {
  const output = items.map(({ item }): TurnItem => ({ item }));
  try {
    await store.save(overNode({ response, tenant, input: beginning.input, output }));
  } catch (thrown) {
    log.error({ err: shown(thrown), response: response.id }, 'failed response could not be stored');
  }
}

/** The node of a response that nothing can follow: it has no artifacts and no place in the tree. */
export function overNode({
  response,
  tenant,
  input,
  output = [],
}: Pick<ResponseNode, 'response' | 'tenant' | 'input'> &
  Partial<Pick<ResponseNode, 'output'>>): ResponseNode {
  return createNode({
    id: response.id,
    tenant,
    parent: undefined,
    input: withItemIds(input),
    output,
    response,
    artifacts: new Map(),
    ownBytes: estimateBytes([{ ...response, output: [] }, ...input, ...output]),
  });
}

/** Memory of the prompt ids this turn added. */
function promptBytes(parent: ResponseNode | undefined, artifacts: Artifacts): number {
  const rendered = artifacts.get(Rendering.name) as Rendered;
  return renderedBytes(rendered, parent?.artifacts.get(Rendering.name) as Rendered | undefined);
}
