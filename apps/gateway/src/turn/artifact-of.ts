import type { Artifacts, StageToken } from '@turnpike/turns';

/** The artifact of a stage that has run: the pipeline has run every stage of the list. */
export function artifactOf<A>(artifacts: Artifacts, token: StageToken<A>): A {
  return artifacts.get(token.name) as A;
}
