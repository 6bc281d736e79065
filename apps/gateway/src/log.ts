import { pino } from 'pino';

/** The process's log: JSON lines on stderr, at the configured level. Prompts, outputs and keys are never given to it. */
export const log = pino({ level: 'info', base: null }, pino.destination(2));

/** What a log may say of a database's error: its details can be a whole row, and a row is what somebody said. */
export function shown(thrown: unknown): { code: unknown; message: string } {
  // A refused connection is several errors in one that says nothing, one for each address of a name.
  const error = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  return { code: 'code' in error ? error.code : undefined, message: error.message };
}
