import { log } from '../log.js';
import type { Unlisted } from './lookout.js';
import type { LoopbackPlace } from './loopback.js';

/** Statuses of servers that want a key, or another one. */
const WANTS_KEY = new Set([401, 403]);

/**
 * Says what an engine of the configuration answers where it should list its models: what is wrong with its address or its
 * key shows there first.
 * @param engine its name in the configuration
 */
export function sayUnlisted(engine: string, url: string, answer: Unlisted): void {
  const at = { engine, url: withoutSecrets(url) };
  switch (answer.kind) {
    case 'other':
      return log.warn({ ...at, status: answer.status }, faultOf(answer.status));
    case 'busy':
      return log.info(at, 'engine has no time yet');
    case 'silent':
      return log.warn({ ...at, reason: answer.reason }, 'engine does not answer');
    case 'unreachable':
      return log.warn({ ...at, reason: answer.reason }, 'engine cannot be reached');
  }
}

/** Says that something on this machine may be an engine, and does not say so without a key. */
export function sayLocked({ name, port }: LoopbackPlace, answer: Unlisted): void {
  if (answer.kind !== 'other' || !WANTS_KEY.has(answer.status)) return;
  log.info(
    { port, expected: name, status: answer.status },
    'what listens there wants a key: if it is an engine, name it under engines, with apiKeyEnv',
  );
}

function faultOf(status: number): string {
  return WANTS_KEY.has(status)
    ? 'engine wants a key: apiKeyEnv names the variable that holds it'
    : 'engine has no list of models at its url';
}

/** A URL may hold a password, or a key in its query. */
function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}
