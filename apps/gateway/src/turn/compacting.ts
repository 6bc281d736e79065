import { compactedItems, KEPT_CHARACTERS, SUMMARY_REQUEST } from '@turnpike/conversation';
import type { OutputEvent } from '@turnpike/formats';
import type { EngineUsage } from '@turnpike/inference';
import { Images } from '@turnpike/images';
import type { TurnMeter } from '@turnpike/metering';
import { ApiError, type Usage } from '@turnpike/protocol';
import { Rendering, settingsOf } from '@turnpike/rendering';
import { Routing, type RouterStrategy } from '@turnpike/routing';
import type { Sealer } from '@turnpike/sealing';
import {
  shownItems,
  type Artifacts,
  type Expansion,
  type Pipeline,
  type TurnContext,
  type TurnItem,
} from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';
import { ClearedEngine } from './cleared-engine.js';
import { enginePromptLength } from './engine-prompt.js';
import { failover } from './failover.js';
import { generationsOf } from './generations.js';
import type { SafetyGate } from './safety-gate.js';
import { usageOf } from './usage.js';

/** Most tokens of a summary. */
const SUMMARY_TOKENS = 4_096;

export interface SummaryInput {
  /** The conversation so far, folded. */
  readonly turn: TurnContext;
  readonly artifacts: Artifacts;
  readonly pipeline: Pipeline;
  readonly router: RouterStrategy;
  readonly sealer: Pick<Sealer, 'saltOf'>;
  readonly safety: SafetyGate;
  readonly money: TurnMeter;
  readonly signal: AbortSignal;
}

export interface Summary {
  readonly text: string;
  readonly usage: Usage;
  /** Of the conversation, with the engine that wrote the summary. */
  readonly artifacts: Artifacts;
}

/**
 * Has the model of a conversation summarise it. Its prompt is the conversation's with one message more, so that the
 * engine finds nearly all of it in its cache.
 * Nobody sees any of it before it is whole, so an engine that fails at it is replaced by another one, once.
 * @throws BudgetExceeded | JournalFull; ApiError context_length_exceeded when a summary does not fit behind it;
 *   compaction_failed; the engine's own. OutputBlocked for a summary that may not be shown
 */
export async function summarise(input: SummaryInput): Promise<Summary> {
  try {
    return await summariseOnce(input);
  } catch (thrown) {
    if (input.signal.aborted || !(thrown instanceof ApiError)) throw thrown;
    const artifacts = await failover({ ...input, failure: thrown });
    if (artifacts === undefined) throw thrown;
    input.money.failedOver();
    return summariseOnce({ ...input, artifacts });
  }
}

async function summariseOnce({
  turn,
  artifacts,
  pipeline,
  sealer,
  safety,
  money,
  signal,
}: SummaryInput): Promise<Summary> {
  const asked = await safety.settled(
    await pipeline.run(turn.next(summaryItems(turn, artifacts), 'input'), artifacts),
  );
  const cleared = ClearedEngine.of(asked, safety);
  const source = generationsOf({
    turn,
    artifacts: asked,
    engine: cleared,
    pipeline,
    sealer,
    isLimited: true,
  });
  const generation = await source.begin([], { kind: 'answer' }, SUMMARY_TOKENS);
  const { engineModel, contextTokens } = artifactOf(asked, Routing);
  if (generation === undefined) {
    throw new ApiError('context_length_exceeded', {
      param: 'input',
      message: `The conversation has ${enginePromptLength(asked)} tokens, which leaves no room for a summary of it in the context window of ${contextTokens}.`,
    });
  }
  const texts: string[] = [];
  const read = (events: readonly OutputEvent[]) => {
    for (const event of events) if (event.kind === 'text') texts.push(event.text);
  };
  const length = generation.promptTokens;
  await money.dispatch({
    purpose: 'compaction',
    prompt: length,
    read: length,
    image: artifactOf(asked, Images).tokens,
    engine: cleared.name,
    route: engineModel,
  });
  money.requested();
  const enough = new AbortController();
  let sampled = 0;
  let used: EngineUsage | undefined;
  const theirs = () => (source.countsByEngine ? used?.promptTokens : undefined);
  const usage = () => usageOf(theirs() ?? length, sampled, 0, used);
  try {
    for await (const chunk of generation.chunks(AbortSignal.any([signal, enough.signal]))) {
      if (chunk.finish !== undefined) money.finished();
      if (chunk.usage?.isCut === true) money.clamped();
      const held = money.take(chunk.sampled);
      sampled += chunk.sampled;
      used = chunk.usage ?? used;
      // What the engine had produced when it was stopped is paid for all the same.
      if (signal.aborted || enough.signal.aborted) continue;
      read(chunk.events);
      if (held !== undefined) await held;
      if (money.isExhausted) enough.abort();
    }
  } catch (thrown) {
    if (!enough.signal.aborted) throw thrown;
  } finally {
    // However it ended: what the engine has said of its prompt is what is billed.
    const prompt = theirs();
    if (prompt !== undefined) money.counted(prompt);
    const { cached_tokens: cached, cache_write_tokens: cacheWrite } = usage().input_tokens_details;
    money.compacted({ cached, cacheWrite });
  }
  signal.throwIfAborted();
  if (enough.signal.aborted) throw new ApiError('insufficient_quota');
  read(generation.close('stop'));
  const text = texts.join('').trim();
  if (text === '') throw new ApiError('compaction_failed');
  safety.requireShown(text, usage());
  return { text, usage: usage(), artifacts };
}

/** Notes are text, whatever format answers have. */
function summaryItems({ request }: TurnContext, artifacts: Artifacts): TurnItem[] {
  const { format } = settingsOf(request, artifactOf(artifacts, Rendering).settings);
  if (format.type === 'text') return [{ item: SUMMARY_REQUEST }];
  const plain = { type: 'configuration_update', text: { format: { type: 'text' } } } as const;
  return [{ item: plain }, { item: SUMMARY_REQUEST }];
}

export interface Compaction {
  readonly turn: TurnContext;
  readonly artifacts: Artifacts;
  readonly pipeline: Pipeline;
  readonly summary: string;
  /** Whether the turn's own items are still to be answered, and so kept beside the summary. */
  readonly answers: boolean;
  /** Tokens that the prompt should not have more of behind it, if what is kept beside the summary can be less. */
  readonly tokens: number;
}

/** Most of a context window that may be taken behind a compaction: the rest is for what follows. */
const MOST_OF_CONTEXT = 0.75;

/**
 * What a conversation goes on from once it is summarised. Of earlier user messages there is as much as leaves room to go
 * on; the items of the request itself are left out only where they fill the context window.
 */
export async function compactedTurn(compaction: Compaction): Promise<Expansion> {
  const { artifacts, tokens } = compaction;
  const most = MOST_OF_CONTEXT * artifactOf(artifacts, Routing).contextTokens;
  const expansionWith = expansionsOf(compaction);
  const keepsOwn = (await lengthBehind(compaction, expansionWith(0, true))) <= most;
  const bare = expansionWith(0, keepsOwn);
  const least = await lengthBehind(compaction, bare);
  const limit = Math.min(most, Math.max(tokens, least + tokens / 4));
  for (let characters = KEPT_CHARACTERS; characters > 1 && least <= most; characters /= 4) {
    const expansion = expansionWith(characters, keepsOwn);
    if ((await lengthBehind(compaction, expansion)) <= limit) return expansion;
  }
  return bare;
}

/** Tokens of the prompt that begins with this. */
async function lengthBehind(
  { turn, artifacts, pipeline }: Compaction,
  expansion: Expansion,
): Promise<number> {
  const item = { type: 'compaction', encrypted_content: '' } as const;
  return enginePromptLength(await pipeline.run(turn.next([{ item, expansion }], 'output'), artifacts));
}

/** What the conversation can go on from, by the characters of earlier user messages; its history is read once. */
function expansionsOf({ turn, artifacts, summary, answers }: Compaction) {
  const { addedTools } = artifactOf(artifacts, Validation);
  const own = shownItems(turn.items);
  const before = own.startsAnew ? [] : shownItems(turn.history()).entries;
  return (characters: number, keepsOwn: boolean): Expansion => {
    const kept =
      answers && keepsOwn
        ? { history: before, items: own.entries }
        : { history: [...before, ...own.entries], items: [] };
    return { items: compactedItems({ ...kept, summary, addedTools, characters }), replaces: true };
  };
}
