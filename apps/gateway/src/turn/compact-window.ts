import { historyOf, KEPT_CHARACTERS, rulesOf, summaryItem, usersOf } from '@turnpike/conversation';
import {
  ApiError,
  mintId,
  type CompactionItem,
  type MessageItem,
  type ResponseRequest,
  type Usage,
} from '@turnpike/protocol';
import { Routing } from '@turnpike/routing';
import { packExpansion } from '@turnpike/sealing';
import { shownItems, TurnContext, type Artifacts } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { moneyError } from '../billing/money-error.js';
import { artifactOf } from './artifact-of.js';
import { meteredWords } from '../billing/metered-words.js';
import { beginningOf } from './beginning.js';
import { summarise, type Summary } from './compacting.js';
import { OutputBlocked } from './guarded-assembler.js';
import type { TurnParts } from './turn-run.js';

/** A conversation made short: the input of a new one. */
export interface CompactedWindow {
  readonly id: string;
  readonly object: 'response.compaction';
  /** Seconds since the epoch. */
  readonly created_at: number;
  readonly output: readonly (MessageItem | CompactionItem)[];
  readonly usage: Usage;
}

/**
 * Compacts a conversation into a window: what users said, and one item that stands for the rest. Nothing of it is kept,
 * so that it cannot be continued by its id.
 * @throws ApiError as the turn would, and as {@link summarise} does
 */
export async function compactWindow(
  request: ResponseRequest,
  { tenant, key }: { readonly tenant: string; readonly key: string },
  signal: AbortSignal,
  parts: Omit<TurnParts, 'keepAliveMs' | 'echoBytes'>,
): Promise<CompactedWindow> {
  const { base, items, known } = await beginningOf({ request, tenant }, parts);
  const id = mintId('response');
  const history = () => historyOf(base);
  const turn = new TurnContext({ id, tenant, request, items, known, history });
  const money = parts.meter.begin({
    id,
    tenant,
    key,
    model: request.model,
    transport: 'http',
    ...meteredWords({ serviceTier: request.serviceTier }, tenant, parts.sealer),
    stored: false,
  });
  let summary: Summary | undefined;
  let failure: ApiError | undefined;
  let artifacts: Artifacts;
  try {
    artifacts = await parts.safety.settled(await parts.pipeline.run(turn, base?.artifacts));
    summary = await summarise({ turn, artifacts, ...parts, money, signal }).catch(refused);
  } catch (thrown) {
    const error = moneyError(thrown);
    failure = ApiError.from(error);
    throw error;
  } finally {
    const outcome = summary !== undefined ? 'completed' : signal.aborted ? 'disconnected' : 'failed';
    money.settle({
      outcome,
      reason: outcome === 'failed' && failure !== undefined ? failure.code : null,
      usage: {},
      stages: Object.fromEntries(turn.timings),
    });
  }
  const { text, usage } = summary;
  const all = shownItems([...turn.history(), ...turn.items]).entries.map(({ item }) => item);
  const { addedTools } = artifactOf(artifacts, Validation);
  // A token of some languages is one character.
  const { contextTokens } = artifactOf(artifacts, Routing);
  const expansion = { items: [...rulesOf(all, addedTools), summaryItem(text)], replaces: false };
  const encrypted_content = parts.sealer.seal(tenant, packExpansion(expansion));
  const users = usersOf(all, Math.min(KEPT_CHARACTERS, contextTokens / 2)).map((item) => ({
    ...item,
    id: item.id ?? mintId('message'),
  }));
  return {
    id,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [...users, { type: 'compaction', id: mintId('compaction'), encrypted_content }],
    usage,
  };
}

function refused(thrown: unknown): never {
  if (!(thrown instanceof OutputBlocked)) throw thrown;
  throw new ApiError('content_blocked', {
    message: 'The summary was refused by the content policy of this server.',
  });
}
