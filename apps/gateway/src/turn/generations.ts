import type { AssembledItem } from '@turnpike/assembly';
import { Routing } from '@turnpike/routing';
import type { Sealer } from '@turnpike/sealing';
import type { Artifacts, Pipeline, TurnContext } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';
import { chatRequest } from './chat-request.js';
import type { ClearedEngine } from './cleared-engine.js';
import { engineSettings } from './engine-prompt.js';
import type { GenerationSource } from './generation.js';
import { MessageGenerations } from './message-generations.js';
import { responsesRequest } from './responses-request.js';
import { TokenGenerations } from './token-generations.js';
import { writtenItems } from './written-items.js';

export interface GenerationsInput {
  readonly turn: TurnContext;
  /** Of every stage, behind everything that is to be answered. */
  readonly artifacts: Artifacts;
  /** Of that chain. */
  readonly engine: ClearedEngine;
  readonly pipeline: Pipeline;
  readonly sealer: Pick<Sealer, 'saltOf'>;
  /** JSON Schema that the engine binds the answer to. */
  readonly answerSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Whether most tokens of the answer are asked for, and not only what the context leaves. */
  readonly isLimited: boolean;
}

const REQUESTS = { chat: chatRequest, responses: responsesRequest };

/** What makes the requests to the engine of a conversation, in what that engine takes. */
export function generationsOf(input: GenerationsInput): GenerationSource {
  const { turn, artifacts, engine, pipeline, sealer, answerSchema, isLimited } = input;
  const { format, contextTokens } = artifactOf(artifacts, Routing);
  const { request } = turn;
  const { api } = format;
  if (api === undefined) {
    const { addedTools } = artifactOf(artifacts, Validation);
    return new TokenGenerations({
      engine,
      format,
      tools: [...request.tools, ...addedTools],
      request: engineSettings(turn, artifacts, sealer),
      promptWith: (ending) => engine.prompt(ending),
      contextTokens,
      answerSchema,
    });
  }
  const behind = async (written: readonly AssembledItem[]) => {
    if (written.length === 0) return artifacts;
    return pipeline.run(turn.next(writtenItems(written, format), 'output'), artifacts);
  };
  return new MessageGenerations({
    engine,
    contextTokens,
    behind,
    requestFor: (known, opening, maxTokens) =>
      engine.messages(() => REQUESTS[api](request, known, opening, isLimited ? maxTokens : undefined)),
  });
}
