/**
 * What is known of an engine from what became of its requests. A value: {@link healthAfter} makes the next one.
 *
 * It is the engine's alone, never a tenant's or a model's: what one tenant learns of an engine spares all the others.
 */
export interface Health {
  /** `closed`: requests pass. `open`: they do not, until `retryAt`. `half_open`: one is under way to find out. */
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** Failures in a row. */
  readonly failures: number;
  /** Times that the circuit opened since a request was last answered. */
  readonly openings: number;
  /** Whether the engine could not be reached at all, rather than answering with errors. */
  readonly unreachable: boolean;
  /** Of a circuit that is not closed: when the next request may find out, in ms of the clock. */
  readonly retryAt: number;
  /** Until when the engine asked to be spared, in ms of the clock. */
  readonly busyUntil: number;
}

export type HealthEvent =
  /** A request began to be answered. */
  | { readonly kind: 'begun' }
  /** A request was answered to its end, or for as long as anybody listened. */
  | { readonly kind: 'answered' }
  /** A request failed, or ended before its end. */
  | { readonly kind: 'failed' }
  /** No request got there. */
  | { readonly kind: 'unreachable' }
  /** The engine has more work than it takes. It is alive. */
  | { readonly kind: 'overloaded'; readonly retryAfterMs: number }
  /** A request is sent while the circuit is not closed. */
  | { readonly kind: 'tried' }
  /** The engine answers questions that cost it nothing. */
  | { readonly kind: 'seen' };

/** How an engine stands towards a new request, the best first. */
export const STANDINGS = ['ready', 'busy', 'failing', 'down'] as const;
export type Standing = (typeof STANDINGS)[number];

/** Failures in a row after which an engine that can be reached gets no new work. */
const FAILURES_TO_OPEN = 5;
/** How long a circuit is open at first, and at most: each opening in a row doubles it. */
const FIRST_OPEN_MS = 1_000;
const LONGEST_OPEN_MS = 30_000;
/** How long one request may take to find out before another may: a long prefill answers late. */
const TRIAL_MS = 10_000;
/** Longest time that an engine may ask to be spared for. */
const LONGEST_BUSY_MS = 60_000;

export const NEW_HEALTH: Health = {
  circuit: 'closed',
  failures: 0,
  openings: 0,
  unreachable: false,
  retryAt: 0,
  busyUntil: 0,
};

/** The health behind an event. Pure: the same health when nothing changed. */
export function healthAfter(health: Health, event: HealthEvent, now: number): Health {
  switch (event.kind) {
    case 'answered':
      return isSpotless(health) ? health : { ...NEW_HEALTH, busyUntil: health.busyUntil };
    case 'begun':
      // The circuit need not stay open for as long as a long answer takes. If that ends badly, it opens again at once.
      return health.circuit === 'closed'
        ? health
        : { ...health, circuit: 'closed', failures: FAILURES_TO_OPEN - 1, unreachable: false };
    case 'overloaded': {
      const busyUntil = Math.max(health.busyUntil, now + Math.min(event.retryAfterMs, LONGEST_BUSY_MS));
      return { ...NEW_HEALTH, busyUntil };
    }
    case 'tried':
      return health.circuit === 'closed'
        ? health
        : { ...health, circuit: 'half_open', retryAt: now + TRIAL_MS };
    case 'seen':
      // Whether it answers with more than errors only a request can tell; one that was away may have that at once.
      return health.circuit === 'open' && health.unreachable
        ? { ...health, unreachable: false, retryAt: Math.min(health.retryAt, now) }
        : health;
    case 'failed':
    case 'unreachable':
      return failed(health, event.kind === 'unreachable', now);
  }
}

function failed(health: Health, unreachable: boolean, now: number): Health {
  const failures = health.failures + 1;
  if (health.circuit === 'closed' && !unreachable && failures < FAILURES_TO_OPEN) {
    return { ...health, failures };
  }
  // Requests that were under way when the circuit opened fail late, and say nothing new.
  if (health.circuit === 'open' && now < health.retryAt) {
    return { ...health, failures, unreachable: unreachable || health.unreachable };
  }
  const openMs = Math.min(FIRST_OPEN_MS * 2 ** health.openings, LONGEST_OPEN_MS);
  const openings = health.openings + 1;
  return { ...health, circuit: 'open', failures, openings, unreachable, retryAt: now + openMs };
}

/** How the engine stands towards a new request at this time. */
export function standingOf(health: Health, now: number): Standing {
  if (health.circuit !== 'closed' && now < health.retryAt) return health.unreachable ? 'down' : 'failing';
  return now < health.busyUntil ? 'busy' : 'ready';
}

function isSpotless({ circuit, failures }: Health): boolean {
  return circuit === 'closed' && failures === 0;
}
