import { compactedItems, SUMMARY_REQUEST } from '@turnpike/conversation';
import { ApiError, type Usage } from '@turnpike/protocol';
import { Routing } from '@turnpike/routing';
import type { Sealer } from '@turnpike/sealing';
import { shownItems, type Artifacts, type Expansion, type Pipeline, type TurnContext } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';
import { enginePrompt } from './engine-prompt.js';
import { usageOf } from './usage.js';

/** Most tokens of a summary. */
const SUMMARY_TOKENS = 4_096;

export interface SummaryInput {
  /** The conversation so far, folded. */
  readonly turn: TurnContext;
  readonly artifacts: Artifacts;
  readonly pipeline: Pipeline;
  readonly sealer: Pick<Sealer, 'saltOf'>;
  readonly signal: AbortSignal;
}

export interface Summary {
  readonly text: string;
  readonly usage: Usage;
}

/**
 * Has the model of a conversation summarise it. Its prompt is the conversation's with one message more, so that the
 * engine finds nearly all of it in its cache.
 * @throws ApiError context_length_exceeded when a summary does not fit behind it; compaction_failed; the engine's own
 */
export async function summarise({
  turn,
  artifacts,
  pipeline,
  sealer,
  signal,
}: SummaryInput): Promise<Summary> {
  const asked = await pipeline.run(turn.next([{ item: SUMMARY_REQUEST }], 'input'), artifacts);
  const { engine, engineModel, format, contextTokens } = artifactOf(asked, Routing);
  const opening = format.generationPromptFor({ kind: 'answer' });
  const prompt = enginePrompt(asked, opening);
  const maxTokens = Math.min(SUMMARY_TOKENS, contextTokens - prompt.length);
  if (maxTokens < 1) {
    throw new ApiError('context_length_exceeded', {
      param: 'input',
      message: `The conversation has ${prompt.length} tokens, which leaves no room for a summary of it in the context window of ${contextTokens}.`,
    });
  }
  const parser = format.parser([], opening);
  let text = '';
  let sampled = 0;
  let cachedTokens = 0;
  const read = (events: ReturnType<typeof parser.push>) => {
    for (const event of events) if (event.kind === 'text') text += event.text;
  };
  const { temperature, topP } = turn.request;
  const request = {
    model: engineModel,
    prompt,
    maxTokens,
    stopIds: format.stopIds,
    vocabularySize: format.tokenizer.vocabularySize,
    temperature,
    topP,
    cacheSalt: sealer.saltOf(turn.tenant),
  };
  for await (const { ids, usage } of engine.generate(request, signal)) {
    sampled += ids.length;
    cachedTokens = usage?.cachedTokens ?? cachedTokens;
    read(parser.push(ids));
  }
  read(parser.finish('stop'));
  if (text.trim() === '') throw new ApiError('compaction_failed');
  return { text: text.trim(), usage: usageOf(prompt.length, sampled, 0, { cachedTokens }) };
}

/**
 * What a conversation goes on from once it is summarised.
 * @param answers whether the turn's own items are still to be answered, and so kept beside the summary
 */
export function compactedTurn(
  turn: TurnContext,
  artifacts: Artifacts,
  summary: string,
  answers: boolean,
): Expansion {
  const { addedTools } = artifactOf(artifacts, Validation);
  const own = shownItems(turn.items);
  const before = own.startsAnew ? [] : shownItems(turn.history()).entries;
  const kept = answers
    ? { history: before, items: own.entries }
    : { history: [...before, ...own.entries], items: [] };
  return { items: compactedItems({ ...kept, summary, addedTools }), replaces: true };
}
