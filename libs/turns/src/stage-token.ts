/** Names a stage and carries the type of its artifact. */
export interface StageToken<A> {
  readonly name: string;
  /** Type only; never set. */
  readonly artifactType?: A;
}

/** A token for a stage; names are unique within a pipeline. */
export function stageToken<A>(name: string): StageToken<A> {
  return Object.freeze({ name });
}
