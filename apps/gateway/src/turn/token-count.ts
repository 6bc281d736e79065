import { historyOf } from '@turnpike/conversation';
import { mintId, type ResponseRequest } from '@turnpike/protocol';
import { TurnContext } from '@turnpike/turns';
import { beginningOf } from './beginning.js';
import { enginePrompt } from './engine-prompt.js';
import type { TurnParts } from './turn-run.js';

/**
 * Tokens that this request would make the model read: the same stages as a turn, and no engine.
 * @throws ApiError as the turn would
 */
export async function countInputTokens(
  request: ResponseRequest,
  tenant: string,
  parts: Omit<TurnParts, 'keepAliveMs' | 'echoBytes'>,
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
  return enginePrompt(await parts.pipeline.run(turn, base?.artifacts)).length;
}
