import { historyOf } from '@turnpike/conversation';
import { mintId, type ResponseRequest } from '@turnpike/protocol';
import { promptOf, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import { TurnContext } from '@turnpike/turns';
import { beginningOf } from './beginning.js';
import type { TurnParts } from './turn-run.js';

/**
 * Tokens that this request would make the model read: the same stages as a turn, and no engine.
 * @throws ApiError as the turn would
 */
export async function countInputTokens(
  request: ResponseRequest,
  tenant: string,
  parts: Omit<TurnParts, 'keepAliveMs'>,
): Promise<number> {
  const { base, items, known } = await beginningOf({ request, tenant }, parts);
  const turn = new TurnContext({
    id: mintId('response'),
    tenant,
    request,
    items,
    known,
    history: () => historyOf(base),
  });
  const artifacts = await parts.pipeline.run(turn, base?.artifacts);
  const { format } = artifacts.get(Routing.name) as Route;
  return promptOf(artifacts.get(Rendering.name) as Rendered, format).length;
}
