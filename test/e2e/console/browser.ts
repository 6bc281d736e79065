import { expect } from '@jest/globals';
import type { BillingStand } from './stand.js';

/** Somebody at a browser: follows no redirects, keeps one cookie. */
export class Browser {
  constructor(private readonly stand: BillingStand) {}

  cookie = '';
  page = '';

  async get(path: string) {
    return this.#go(path, {});
  }

  async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    return this.#go(path, { method: 'POST', body: new URLSearchParams(fields), headers });
  }

  async signIn(name: string): Promise<this> {
    const { status } = await this.post('/login', { key: this.stand.keyOf(name) });
    expect(status).toBe(303);
    return this;
  }

  get token(): string {
    return /name="token" value="([^"]+)"/.exec(this.page)?.[1] ?? '';
  }

  async #go(path: string, init: RequestInit) {
    const headers = { ...(init.headers as Record<string, string>), cookie: this.cookie };
    const answer = await fetch(this.stand.billing.url + path, { ...init, headers, redirect: 'manual' });
    const set = answer.headers.get('set-cookie');
    if (set !== null) this.cookie = set.split(';', 1)[0] ?? '';
    this.page = await answer.text();
    return { status: answer.status, headers: answer.headers, to: answer.headers.get('location') };
  }
}
