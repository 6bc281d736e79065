import { pino } from 'pino';

/** The process's log: JSON lines on stderr, at the configured level. Prompts, outputs and keys are never given to it. */
export const log = pino({ level: 'info', base: null }, pino.destination(2));
