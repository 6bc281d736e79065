import { Controller, Get, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiError } from '@turnpike/protocol';
import type { Request, Response } from 'express';
import { Actors } from '../http/actors.js';
import { html, type Html } from '../http/html.js';
import { readForm } from '../http/read-text.js';
import { cookieOf, isOwnForm, Sessions } from '../http/sessions.js';
import { page } from './layout.js';
import { STYLE } from './style.js';

/** Signing in by a key, which is exchanged for a session and not kept. */
@Controller()
export class LoginController {
  constructor(
    @Inject(Actors) private readonly actors: Actors,
    @Inject(Sessions) private readonly sessions: Sessions,
  ) {}

  @Get('login')
  form(@Res() answer: Response): void {
    answer.type('html').send(page('Sign in', loginForm()));
  }

  @Post('login')
  @HttpCode(200)
  async login(@Req() request: Request, @Res() answer: Response): Promise<void> {
    const key = (await readForm(request)).get('key')?.trim() ?? '';
    try {
      const { socket } = request;
      const headers = { authorization: `Bearer ${key}` };
      const { principal } = await this.actors.ofKey({ headers, socket });
      const session = this.sessions.begin(principal);
      answer.setHeader('set-cookie', cookieOf(session, isSecure(request)));
      answer.redirect(303, '/');
    } catch (thrown) {
      if (!(thrown instanceof ApiError)) throw thrown;
      if (thrown.retryAfter !== undefined) answer.setHeader('retry-after', String(thrown.retryAfter));
      answer
        .status(thrown.status)
        .type('html')
        .send(page('Sign in', loginForm(thrown.message)));
    }
  }

  @Post('logout')
  @HttpCode(200)
  async logout(@Req() request: Request, @Res() answer: Response): Promise<void> {
    const session = this.sessions.find(request.headers.cookie);
    const form = await readForm(request);
    if (session !== undefined) {
      if (!isOwnForm(session, form.get('token'))) throw new ApiError('origin_not_allowed');
      this.sessions.end(session);
    }
    answer.setHeader('set-cookie', cookieOf(undefined, isSecure(request)));
    answer.redirect(303, '/login');
  }

  @Get('assets/style.css')
  style(@Res() answer: Response): void {
    answer.setHeader('cache-control', 'max-age=300');
    answer.type('css').send(STYLE);
  }
}

/** Whether the browser speaks TLS, as far as it can be known behind a proxy. A wrong answer only costs the session. */
function isSecure({ headers, secure }: Request): boolean {
  return secure || headers['x-forwarded-proto'] === 'https';
}

function loginForm(error?: string): Html {
  return html`<div class="login">
    ${error === undefined ? undefined : html`<p class="error" role="alert">${error}</p>`}
    <form method="post" action="/login">
      <label
        >API key with the scope billing or operator
        <input name="key" type="password" autocomplete="current-password" required
      /></label>
      <button>Sign in</button>
    </form>
    <p class="note">Operators make keys with <code>npm run admin -- keys create</code>.</p>
  </div>`;
}
