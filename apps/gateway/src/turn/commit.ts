import type { ResponseAssembler } from '@turnpike/assembly';
import {
  apart,
  createNode,
  estimateBytes,
  type ConversationStore,
  type ResponseNode,
  type ResponseStore,
} from '@turnpike/conversation';
import { imageBytes, Images, type KnownImages } from '@turnpike/images';
import { renderedBytes, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Artifacts, Pipeline, TurnItem } from '@turnpike/turns';
import { log } from '../log.js';
import type { AnsweredChain } from './answered.js';
import { artifactOf } from './artifact-of.js';
import { isAllStored, type Beginning } from './beginning.js';
import { appendTurn } from './conversation-commit.js';
import { withItemIds } from './item-ids.js';
import type { TurnInput } from './turn-input.js';
import { writtenItems } from './written-items.js';

export interface CommitInput {
  readonly chain: AnsweredChain;
  readonly beginning: Beginning;
  /** Ended. */
  readonly assembler: ResponseAssembler;
  readonly input: TurnInput;
  readonly pipeline: Pipeline;
  readonly store: Pick<ResponseStore, 'save'>;
  readonly conversations: ConversationStore;
}

/**
 * Folds the rest of the output in and makes the response known: to its conversation, to its connection, and to the store
 * when it is to be stored.
 * @returns the response in the tree
 */
export async function commit({
  chain: { turn, artifacts, output: before, folded },
  beginning: { parent, input: ownInput, conversation },
  assembler,
  input: { request, tenant, connection },
  pipeline,
  store,
  conversations,
}: CommitInput): Promise<ResponseNode> {
  const rest = writtenItems(assembler.items.slice(folded), artifactOf(artifacts, Routing).format);
  const known = rest.length === 0 ? artifacts : await pipeline.run(turn.next(rest, 'output'), artifacts);
  const output = [...before, ...rest];
  // What the request set is in the response; what the model wrote is charged with its ids.
  const settings = { ...assembler.response, output: [] };
  const node = createNode({
    id: assembler.response.id,
    tenant,
    parent,
    input: withItemIds(ownInput),
    output,
    response: assembler.response,
    artifacts: known,
    ownBytes: estimateBytes([settings, ...ownInput, ...output]) + promptBytes(parent, known),
  });
  if (conversation !== undefined) await appendTurn(conversations, conversation, node);
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
  const { parent, input } = beginning;
  const output = items.map(({ item }): TurnItem => ({ item }));
  const over = overNode({ response, tenant, input, output });
  try {
    await store.save(parent === undefined || isAllStored(parent) ? over : onItsOwn(over));
  } catch (thrown) {
    log.error({ err: thrown, response: response.id }, 'failed response could not be stored');
  }
}

/** What is kept of a response behind one that was not to be: its summaries are of that, and its error may quote it. */
function onItsOwn(node: ResponseNode): ResponseNode {
  const { error } = node.response;
  const message = 'The response failed. Why is not kept, because it follows a response with store: false.';
  return {
    ...node,
    response: { ...node.response, error: error && { ...error, message } },
    output: node.output.map(({ item }) => ({ item: apart(item) })),
  };
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

/** Memory of what this turn added to the prompt: ids, and images that were fetched. */
function promptBytes(parent: ResponseNode | undefined, artifacts: Artifacts): number {
  const rendered = artifactOf(artifacts, Rendering);
  const images = artifactOf(artifacts, Images);
  const before = parent?.artifacts;
  return (
    renderedBytes(rendered, before?.get(Rendering.name) as Rendered | undefined) +
    imageBytes(images, before?.get(Images.name) as KnownImages | undefined)
  );
}
