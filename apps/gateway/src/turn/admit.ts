import { historyOf } from '@turnpike/conversation';
import { mintId, type ResponseRequest } from '@turnpike/protocol';
import { TurnContext } from '@turnpike/turns';
import { beginningOf } from './beginning.js';
import type { TurnParts } from './turn-run.js';

/**
 * Runs what comes before a response exists: its parent, validation, routing. Nothing of it is kept.
 * @throws ApiError as the turn would
 */
export async function admit(
  request: ResponseRequest,
  tenant: string,
  parts: Omit<TurnParts, 'keepAliveMs' | 'echoBytes'>,
): Promise<void> {
  const { base, items, known } = await beginningOf({ request, tenant }, parts);
  const history = () => historyOf(base);
  const turn = new TurnContext({ id: mintId('response'), tenant, request, items, known, history });
  await parts.pipeline.run(turn, base?.artifacts, 'admission');
}
