import { historyOf, resolveParent, type ResponseStore } from '@turnpike/conversation';
import { mintId, type ResponseRequest } from '@turnpike/protocol';
import { promptOf, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import { TurnContext, type Pipeline } from '@turnpike/turns';

/**
 * Tokens that this request would make the model read: the same stages as a turn, and no engine.
 * @throws ApiError as the turn would
 */
export async function countInputTokens(
  request: ResponseRequest,
  tenant: string,
  { pipeline, store }: { pipeline: Pipeline; store: ResponseStore },
): Promise<number> {
  const { previousResponseId } = request;
  const parent =
    previousResponseId === undefined ? undefined : await resolveParent(tenant, previousResponseId, [store]);
  const turn = new TurnContext({
    id: mintId('response'),
    tenant,
    request,
    items: request.input.map((item) => ({ item })),
    history: () => historyOf(parent),
  });
  const artifacts = await pipeline.run(turn, parent?.artifacts);
  const { format } = artifacts.get(Routing.name) as Route;
  return promptOf(artifacts.get(Rendering.name) as Rendered, format).length;
}
