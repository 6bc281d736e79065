import { hasScope, KeyRing, type Caller, type Principal, type Scope } from '@turnpike/access';
import { ApiError } from '@turnpike/protocol';
import { Inject, Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { Sessions, type Session } from './sessions.js';

/** Somebody at a page, who has to sign in first. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn';
}

export interface Actor {
  readonly principal: Principal;
  /** The tenant whose money it may see; undefined for all. */
  readonly tenant: string | undefined;
}

/** Who asks: programs bring a key, browsers a session. */
@Injectable()
export class Actors {
  constructor(
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(Sessions) private readonly sessions: Sessions,
  ) {}

  /** @throws ApiError invalid_api_key | too_many_failed_attempts | insufficient_permissions */
  async ofKey(request: Caller, scope: Scope = 'billing'): Promise<Actor> {
    // An open gateway has no keys at all; there is nobody then who may see bills. The first key may be a moment old.
    if (this.keys.open) await this.keys.refresh();
    if (this.keys.open) throw new ApiError('invalid_api_key');
    return actorOf(await this.keys.authenticate(request, scope));
  }

  /** @throws NotSignedIn; ApiError insufficient_permissions */
  ofSession(request: IncomingMessage, scope: Scope = 'billing'): Actor & { readonly session: Session } {
    const session = this.sessions.find(request.headers.cookie);
    if (session === undefined) throw new NotSignedIn();
    return { ...actorOf(this.#current(session, scope)), session };
  }

  #current(session: Session, scope: Scope): Principal {
    try {
      return this.keys.current(session.principal, scope);
    } catch (thrown) {
      if (thrown instanceof ApiError && thrown.code !== 'invalid_api_key') throw thrown;
      this.sessions.end(session);
      throw new NotSignedIn();
    }
  }
}

function actorOf(principal: Principal): Actor {
  return { principal, tenant: hasScope(principal, 'operator') ? undefined : principal.tenant };
}
