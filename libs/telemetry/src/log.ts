import { pino } from 'pino';

/** What a log says of an error. */
export interface ShownError {
  readonly type: string;
  readonly code: unknown;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly cause?: ShownError | undefined;
}

/**
 * An error without whatever else it carries: a database's details can be a whole row, and a row is what somebody said.
 */
export function shownError(thrown: unknown): ShownError {
  // A refused connection is several errors in one that says nothing, one for each address of a name.
  const error = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  if (!(error instanceof Error)) return { type: typeof error, code: undefined, message: String(error) };
  const { name, message, stack } = error;
  const cause = error.cause === undefined ? undefined : shownError(error.cause);
  return { type: name, code: 'code' in error ? error.code : undefined, message, stack, cause };
}

/** The process's log: JSON lines on stderr, at the configured level. Prompts, outputs and keys are never given to it. */
export const log = pino({ level: 'info', base: null, serializers: { err: shownError } }, pino.destination(2));
