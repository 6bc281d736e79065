import { pino } from 'pino';

/** The process's log: JSON lines on stderr. Prompts, outputs and keys are never given to it. */
export const log = pino({ level: process.env['LOG_LEVEL'] ?? 'info', base: null }, pino.destination(2));
