import { Images } from '@turnpike/images';
import type { ApiError, ErrorCode } from '@turnpike/protocol';
import { Routing, routeQueryOf, type RouterStrategy } from '@turnpike/routing';
import type { Artifacts, Pipeline, TurnContext } from '@turnpike/turns';
import { log } from '../log.js';
import { countFailover } from '../routing/engine-metrics.js';
import { artifactOf } from './artifact-of.js';
import { enginePromptLength } from './engine-prompt.js';

/** Failures of an engine that another one need not share. */
const OF_THE_ENGINE: ReadonlySet<ErrorCode> = new Set([
  'engine_error',
  'engine_refused',
  'engine_lacks_model',
  'engine_unavailable',
  'engine_timeout',
  'server_is_overloaded',
]);

export interface FailoverInput {
  /** The last step that was folded. */
  readonly turn: TurnContext;
  readonly artifacts: Artifacts;
  /** What became of the request to the engine that these say. */
  readonly failure: ApiError;
  readonly pipeline: Pipeline;
  readonly router: RouterStrategy;
}

/**
 * The same conversation on another engine, for a request that failed before it gave anything away. Where that reads
 * another format, the prompt is rendered anew.
 * @returns undefined when there is no other engine that could answer it
 */
export async function failover({
  turn,
  artifacts,
  failure,
  pipeline,
  router,
}: FailoverInput): Promise<Artifacts | undefined> {
  if (!OF_THE_ENGINE.has(failure.code)) return undefined;
  const from = artifactOf(artifacts, Routing);
  const step = turn.next([], 'output');
  const to = router.alternative?.(from, routeQueryOf(step));
  if (to === undefined) return undefined;
  if (to.images === undefined && artifactOf(artifacts, Images).count > 0) return undefined;
  const moved = await pipeline.run(step, new Map([...artifacts, [Routing.name, to]]));
  if (enginePromptLength(moved) >= to.contextTokens) return undefined;
  countFailover(to.model, from.engine.name, to.engine.name);
  log.warn(
    { response: turn.id, model: to.model, from: from.engine.name, to: to.engine.name, code: failure.code },
    'engine replaced',
  );
  return moved;
}
