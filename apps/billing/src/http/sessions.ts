import type { Principal } from '@turnpike/access';
import { randomBytes, timingSafeEqual } from 'node:crypto';

/** How long somebody stays signed in, in ms. */
const LIFETIME_MS = 12 * 60 * 60 * 1000;
/** Sessions that are kept; beyond them the oldest ends. */
const MOST = 1_000;
const COOKIE = 'turnpike_session';

export interface Session {
  readonly id: string;
  readonly principal: Principal;
  /** Stands in every form: a page of another site cannot know it. */
  readonly token: string;
  readonly until: number;
}

/** Who is signed in with a browser. Kept in memory: a restart signs everyone out. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  /** @param now a clock in ms */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  begin(principal: Principal): Session {
    const random = () => randomBytes(32).toString('base64url');
    const session = { id: random(), token: random(), principal, until: this.#now() + LIFETIME_MS };
    this.#sessions.set(session.id, session);
    if (this.#sessions.size > MOST) {
      const [oldest = ''] = this.#sessions.keys();
      this.#sessions.delete(oldest);
    }
    return session;
  }

  /** The session of a `Cookie` header. */
  find(cookies: string | undefined): Session | undefined {
    const id = new RegExp(`(?:^|; *)${COOKIE}=([\\w-]+)`).exec(cookies ?? '')?.[1];
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (session === undefined || this.#now() < session.until) return session;
    this.#sessions.delete(session.id);
    return undefined;
  }

  end({ id }: Session): void {
    this.#sessions.delete(id);
  }
}

/** `Set-Cookie` that begins a session; without one, ends it. */
export function cookieOf(session: Session | undefined, isSecure: boolean): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', ...(isSecure ? ['Secure'] : [])];
  const value = session === undefined ? '' : session.id;
  const age = session === undefined ? 0 : LIFETIME_MS / 1000;
  return [`${COOKIE}=${value}`, ...attributes, `Max-Age=${age}`].join('; ');
}

/** Whether a form was made for this session. */
export function isOwnForm({ token }: Session, sent: string | null): boolean {
  const [expected, given] = [Buffer.from(token), Buffer.from(sent ?? '')];
  return expected.length === given.length && timingSafeEqual(expected, given);
}
