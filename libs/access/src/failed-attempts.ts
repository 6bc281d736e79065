import { isIPv6 } from 'node:net';

/** Failures of one address in a window that are answered in full; an agent with an old key retries a few times. */
const MOST = 30;
const WINDOW_MS = 60_000;
/** Addresses that are kept apart; beyond them the oldest window is forgotten. */
const MOST_ADDRESSES = 10_000;

interface Window {
  readonly until: number;
  failures: number;
}

/** Counts attempts with unknown keys by where they came from, for a minute from the first. */
export class FailedAttempts {
  readonly #windows = new Map<string, Window>();
  readonly #now: () => number;

  /** @param now a clock in ms */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Seconds until an address may fail again; undefined while it may. */
  waitOf(address: string | undefined): number | undefined {
    const window = this.#windows.get(networkOf(address));
    const now = this.#now();
    if (window === undefined || window.until <= now || window.failures < MOST) return undefined;
    return Math.ceil((window.until - now) / 1000);
  }

  add(address: string | undefined): void {
    const network = networkOf(address);
    const now = this.#now();
    const window = this.#windows.get(network);
    if (window !== undefined && window.until > now) {
      window.failures++;
      return;
    }
    // Behind the others, whose windows end before: the first one is the oldest.
    this.#windows.delete(network);
    this.#windows.set(network, { until: now + WINDOW_MS, failures: 1 });
    if (this.#windows.size > MOST_ADDRESSES) {
      const [oldest = ''] = this.#windows.keys();
      this.#windows.delete(oldest);
    }
  }
}

/** An address, or the /64 of an IPv6 one, all of which one subscriber has. */
function networkOf(address = ''): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!isIPv6(bare)) return bare;
  const [head = ''] = bare.split('%');
  const [left = '', right] = head.split('::');
  const groups = left === '' ? [] : left.split(':');
  const rest = right === undefined || right === '' ? [] : right.split(':');
  const zeros =
    right === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}
